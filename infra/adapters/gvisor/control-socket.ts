/**
 * Job: speak to a running sandbox without a process: its control socket takes one JSON value per call and answers each
 * with one. Used to wait for the exit code (an answer that comes when the process ends) and to see the end at once (the
 * socket closes when the sandbox is gone, whatever the cause). Boundary: calls that pass file descriptors need `runsc`.
 */
import { connect, type Socket } from 'node:net'
import { z } from 'zod'
import { GVISOR_LIMITS } from './options.ts'

const answerSchema = z.object({ success: z.boolean(), err: z.string(), result: z.unknown() })

export type ProcessEnd =
  /** The process ended, and the sandbox said how. */
  | { readonly kind: 'exited'; readonly waitStatus: number }
  /** The sandbox was gone before it could say anything. */
  | { readonly kind: 'gone' }

/** Path of the control socket of a sandbox. */
export const controlSocketPath = (root: string, id: string): string => `${root}/runsc-${id}.sock`

/**
 * Waits for the end of the sandbox's process. Needs neither polling nor a process of its own.
 * @param signal ends the wait; the promise then never settles
 */
export function waitForProcessEnd(root: string, id: string, signal: AbortSignal): Promise<ProcessEnd> {
  return new Promise((resolve) => {
    const socket: Socket = connect({ path: controlSocketPath(root, id) })
    let text = ''
    signal.addEventListener('abort', () => socket.destroy(), { once: true })
    socket.on('connect', () => socket.write(JSON.stringify({ method: 'containerManager.Wait', arg: id })))
    socket.on('data', (part) => {
      text = (text + part.toString('utf8')).slice(-GVISOR_LIMITS.controlAnswerBytesMax)
      const waitStatus = waitStatusOf(text)
      if (waitStatus === undefined) return
      socket.destroy()
      resolve({ kind: 'exited', waitStatus })
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      if (!signal.aborted) resolve({ kind: 'gone' })
    })
  })
}

function waitStatusOf(text: string): number | undefined {
  try {
    const answer = answerSchema.parse(JSON.parse(text))
    return answer.success ? Number(answer.result) : undefined
  } catch {
    return undefined
  }
}

/** Exit code as a shell would show it: 128 + signal for a process that a signal ended. */
export function exitCodeOf(waitStatus: number): number {
  const signal = waitStatus & 0x7f
  return signal === 0 ? (waitStatus >> 8) & 0xff : 128 + signal
}
