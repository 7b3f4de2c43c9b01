/** Where a part says what it does: one line a message. */
export type Log = (level: 'debug' | 'info' | 'warn' | 'error', message: string) => void
