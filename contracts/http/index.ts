export * from './headers.ts'
export * from './error-answer.ts'
export * from './host-port.ts'
export * from './relay.ts'
