export * from './simulated-runtime.ts'
