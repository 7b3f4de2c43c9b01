/** Where a part says what it does: one line a message. */
export type Log = (level: LogLevel, message: string) => void

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']

/** Lines on standard error from `least` on, as JSON. */
export const stderrLog =
  (part: string, least: LogLevel): Log =>
  (level, message) => {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(least)) return
    process.stderr.write(`${JSON.stringify({ time: new Date().toISOString(), level, part, message })}\n`)
  }
