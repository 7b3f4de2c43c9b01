import { LIMITS, readSettings, refusalLine, refusalOf } from '@torpor/contracts'
import { pino } from 'pino'

/** Writes one line of the part's own log: JSON on standard error. */
export type Note = (
  level: 'debug' | 'info' | 'warn' | 'error',
  message: string,
  fields?: Readonly<Record<string, unknown>>,
) => void

export type RunningPart = {
  /** Printed after READY: where the part is reached, or its name. */
  readonly address: string
  close(): Promise<void>
}

/**
 * The life of a process of Torpor: starts the part, prints `READY <part> <address>` on standard output, and on SIGTERM or
 * SIGINT closes it in order, within `stopMs`. A part that cannot start says why in one line and exits with the code of the
 * registry.
 * @example await runPart('router', async ({ note }) => startRouter(readSettings(process.env), note))
 */
export async function runPart(
  part: string,
  start: (tools: { readonly note: Note }) => Promise<RunningPart>,
): Promise<void> {
  const logger = pino(
    { base: { part, pid: process.pid }, level: readSettings(process.env).TORPOR_LOG_LEVEL },
    pino.destination({ fd: 2, sync: true }),
  )
  const note: Note = (level, message, fields) => logger[level](fields ?? {}, message)
  const running = await start({ note }).catch((cause: unknown) => {
    process.stderr.write(`error: ${part}: ${refusalLine(refusalOf(cause))}\n`)
    process.exit(1)
  })
  process.stdout.write(`READY ${part} ${running.address}\n`)
  closeOnSignal(running, note)
}

function closeOnSignal(running: RunningPart, note: Note): void {
  let closing = false
  const close = (signal: string) => {
    if (closing) return
    closing = true
    note('info', `closing on ${signal}`)
    setTimeout(() => process.exit(1), LIMITS.stopMs).unref()
    running.close().then(
      () => process.exit(0),
      (cause: unknown) => {
        note('error', 'did not close in order', { cause: String(cause) })
        process.exit(1)
      },
    )
  }
  process.once('SIGTERM', () => close('SIGTERM'))
  process.once('SIGINT', () => close('SIGINT'))
}
