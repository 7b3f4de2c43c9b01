import { createReadStream, createWriteStream } from 'node:fs'
import { rename, rm, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import type { SnapshotStore } from '@torpor/contracts'
import { checkStoreKey, fault, LIMITS } from '@torpor/contracts'
import { attemptsOf, isConditionFailed, isConflict, isUnknownKey, toFault } from './s3-errors.ts'

export type S3StoreOptions = {
  readonly bucket: string
  /** Begin of every key, without `/` at its end; empty for none. */
  readonly prefix: string
  readonly region: string
  /** Address of a server that is not AWS; its buckets are addressed by path. */
  readonly endpoint?: string
}

type Store = { readonly client: S3Client; readonly bucket: string; readonly prefix: string }

const READ_CHUNK_BYTES = 1024 * 1024

/**
 * Opens a snapshot store in a bucket. Credentials come from where the SDK looks for them: environment, file, the machine.
 * Asks the bucket once, so that a wrong secret or name is told now: fault STORE_UNAVAILABLE.
 * @example const store = await openS3Store({ bucket: 'snapshots', prefix: 'torpor', region: 'eu-central-1' })
 */
export async function openS3Store(options: S3StoreOptions): Promise<SnapshotStore> {
  const store = { client: makeClient(options), bucket: options.bucket, prefix: options.prefix }
  await guarded(store, `s3://${options.bucket}`, () =>
    store.client.send(new ListObjectsV2Command({ Bucket: store.bucket, Prefix: store.prefix, MaxKeys: 1 })),
  )
  return {
    putFile: (key, path, signal) => putFile(store, key, path, signal),
    putBytes: (key, bytes, putOptions) =>
      putOptions?.ifAbsent === true ? putNew(store, key, bytes) : putBytes(store, key, bytes),
    getBytes: (key) => getBytes(store, key),
    getFile: (key, path, signal) => getFile(store, key, path, signal),
    exists: (key) => exists(store, key),
    list: (prefix) => listKeys(store, prefix),
    remove: (key) => remove(store, key),
  }
}

function makeClient({ region, endpoint }: S3StoreOptions): S3Client {
  return new S3Client({
    region,
    maxAttempts: LIMITS.storeAttemptsMax,
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    requestHandler: {
      connectionTimeout: LIMITS.storeConnectTimeoutMs,
      socketTimeout: LIMITS.storeSilenceMsMax,
    },
  })
}

type Place = { readonly Bucket: string; readonly Key: string }

/** Where an object lies; throws for what cannot be a key. */
function place({ bucket, prefix }: Store, key: string): Place {
  checkStoreKey(key)
  return { Bucket: bucket, Key: prefix === '' ? key : `${prefix}/${key}` }
}

/** Each part carries a checksum that the server compares; the length is compared at the end. */
async function putFile(store: Store, key: string, path: string, signal?: AbortSignal): Promise<void> {
  const where = place(store, key)
  signal?.throwIfAborted()
  const { size } = await stat(path)
  const send = () => sendFile(store.client, where, { path, size }, signal)
  await guarded(store, key, () => pastConflicts(send), signal)
  const { ContentLength } = await guarded(store, key, () => store.client.send(new HeadObjectCommand(where)))
  if (ContentLength !== size) throw damaged(key, size, ContentLength)
}

async function sendFile(
  client: S3Client,
  where: Place,
  file: { readonly path: string; readonly size: number },
  signal?: AbortSignal,
): Promise<void> {
  // After the last wait before the listener below: an abort in between would be heard by nobody.
  signal?.throwIfAborted()
  const body = createReadStream(file.path, { highWaterMark: READ_CHUNK_BYTES })
  const upload = new Upload({
    client,
    params: { ...where, Body: body },
    partSize: Math.max(LIMITS.storePartBytes, Math.ceil(file.size / PARTS_MAX)),
    queueSize: LIMITS.storePartsInFlightMax,
  })
  const abort = (): void => void upload.abort()
  signal?.addEventListener('abort', abort, { once: true })
  try {
    await upload.done()
  } finally {
    signal?.removeEventListener('abort', abort)
    body.destroy()
  }
}

/** What the protocol allows in one object. */
const PARTS_MAX = 10_000

async function putBytes(store: Store, key: string, bytes: Uint8Array): Promise<boolean> {
  const command = new PutObjectCommand({ ...place(store, key), Body: bytes })
  await guarded(store, key, () => pastConflicts(() => store.client.send(command)))
  return true
}

async function putNew(store: Store, key: string, bytes: Uint8Array): Promise<boolean> {
  const command = new PutObjectCommand({ ...place(store, key), Body: bytes, IfNoneMatch: '*' })
  try {
    await pastConflicts(() => store.client.send(command))
    return true
  } catch (cause) {
    if (isConditionFailed(cause)) return attemptsOf(cause) > 1 && holds(store, key, bytes)
    throw toFault(cause, key, store.bucket)
  }
}

/** Sends again what the server answers with "conflict": nothing was stored, and it does not say for how long. */
async function pastConflicts<Result>(send: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send()
    } catch (cause) {
      if (!isConflict(cause) || attempt >= LIMITS.storeConflictsMax) throw cause
      await sleep(LIMITS.storeConflictPauseMs * attempt)
    }
  }
}

/** A put that was sent twice may have met its own first sending: then the object is this one. */
const holds = async (store: Store, key: string, bytes: Uint8Array): Promise<boolean> =>
  Buffer.compare(await getBytes(store, key), bytes) === 0

async function getBytes(store: Store, key: string): Promise<Uint8Array> {
  const where = place(store, key)
  return guarded(store, key, async () => {
    const { Body, ContentLength } = await store.client.send(new GetObjectCommand(where))
    const bytes = (await Body?.transformToByteArray()) ?? new Uint8Array()
    if (ContentLength !== undefined && bytes.length !== ContentLength) {
      throw damaged(key, ContentLength, bytes.length)
    }
    return bytes
  })
}

async function getFile(store: Store, key: string, path: string, signal?: AbortSignal): Promise<void> {
  const where = place(store, key)
  const partial = `${path}.partial`
  try {
    signal?.throwIfAborted()
    await guarded(store, key, () => download(store, where, partial, signal), signal)
    signal?.throwIfAborted()
    await rename(partial, path)
  } catch (cause) {
    await rm(partial, { force: true })
    throw cause
  }
}

async function download(store: Store, where: Place, path: string, signal?: AbortSignal): Promise<void> {
  const abort = signal === undefined ? {} : { abortSignal: signal }
  const { Body, ContentLength } = await store.client.send(new GetObjectCommand(where), abort)
  if (!(Body instanceof Readable)) throw damaged(where.Key, ContentLength ?? 0, undefined)
  await pipeline(Body, createWriteStream(path), signal === undefined ? {} : { signal })
  const { size } = await stat(path)
  if (ContentLength !== undefined && size !== ContentLength) throw damaged(where.Key, ContentLength, size)
}

async function exists(store: Store, key: string): Promise<boolean> {
  const where = place(store, key)
  try {
    await store.client.send(new HeadObjectCommand(where))
    return true
  } catch (cause) {
    if (isUnknownKey(cause)) return false
    throw toFault(cause, key, store.bucket)
  }
}

async function* listKeys(store: Store, prefix: string): AsyncGenerator<string> {
  const above = store.prefix === '' ? '' : `${store.prefix}/`
  let from: string | undefined
  do {
    const page = await guarded(store, prefix, () =>
      store.client.send(
        new ListObjectsV2Command({
          Bucket: store.bucket,
          Prefix: above + prefix,
          ...(from === undefined ? {} : { ContinuationToken: from }),
        }),
      ),
    )
    for (const { Key } of page.Contents ?? []) if (Key !== undefined) yield Key.slice(above.length)
    from = page.IsTruncated === true ? page.NextContinuationToken : undefined
  } while (from !== undefined)
}

async function remove(store: Store, key: string): Promise<void> {
  const where = place(store, key)
  try {
    await store.client.send(new DeleteObjectCommand(where))
  } catch (cause) {
    if (!isUnknownKey(cause)) throw toFault(cause, key, store.bucket)
  }
}

const damaged = (key: string, expected: number, found: number | undefined): Error =>
  fault('STORE_UNAVAILABLE', key, { detail: `${expected} bytes were expected, ${found ?? 'none'} came` })

/** Faults of the port for whatever the client throws; an abort stays an abort. */
async function guarded<Result>(
  { bucket }: Store,
  key: string,
  work: () => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  try {
    return await work()
  } catch (cause) {
    signal?.throwIfAborted()
    if (cause instanceof Error && cause.name === 'TorporError') throw cause
    throw toFault(cause, key, bucket)
  }
}
