export type { S3StoreOptions } from './s3-store.ts'
export { openS3Store } from './s3-store.ts'
