/**
 * Job: speak to a running sandbox without a process: its control socket takes one JSON value per call and answers each
 * with one. Used to wait for the exit code (an answer that comes when the process ends) and to see the end at once (the
 * socket closes when the sandbox is gone, whatever the cause). Boundary: calls that pass file descriptors need `runsc`.
 */
import { connect } from 'node:net'
import { z } from 'zod'
import { GVISOR_LIMITS } from './options.ts'

const answerSchema = z.object({ success: z.boolean(), err: z.string(), result: z.unknown().optional() })
type Answer = z.infer<typeof answerSchema>

export type ProcessEnd =
  /** The process ended, and the sandbox said how. */
  | { readonly kind: 'exited'; readonly waitStatus: number }
  /** The sandbox was gone before it could say anything. */
  | { readonly kind: 'gone' }

/** Path of the control socket of a sandbox. */
const controlSocketPath = (root: string, id: string): string => `${root}/runsc-${id}.sock`

/**
 * Waits for the end of the sandbox's process. Needs neither polling nor a process of its own.
 * @param signal ends the wait; the promise then never settles
 */
export async function waitForProcessEnd(root: string, id: string, signal: AbortSignal): Promise<ProcessEnd> {
  const answer = await call(root, id, 'containerManager.Wait', signal)
  if (signal.aborted) return new Promise(() => undefined)
  return answer?.success === true ? { kind: 'exited', waitStatus: Number(answer.result) } : { kind: 'gone' }
}

/** Whether the sandbox lives and can still be spoken to. */
export async function sandboxAnswers(root: string, id: string): Promise<boolean> {
  const signal = AbortSignal.timeout(GVISOR_LIMITS.controlTimeoutMs)
  const answer = await call(root, id, 'containerManager.ContainerRuntimeState', signal)
  return answer?.success === true
}

/** One call on a connection of its own; undefined when the socket closes, or `signal` aborts, before an answer. */
function call(root: string, id: string, method: string, signal: AbortSignal): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ path: controlSocketPath(root, id) })
    const stop = (): void => void socket.destroy()
    let text = ''
    signal.addEventListener('abort', stop, { once: true })
    socket.on('connect', () => socket.write(JSON.stringify({ method, arg: id })))
    socket.on('data', (part) => {
      text = (text + part.toString('utf8')).slice(-GVISOR_LIMITS.controlAnswerBytesMax)
      const answer = answerOf(text)
      if (answer === undefined) return
      resolve(answer)
      socket.destroy()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      signal.removeEventListener('abort', stop)
      resolve(undefined)
    })
  })
}

/** An answer may come in pieces. */
function answerOf(text: string): Answer | undefined {
  try {
    return answerSchema.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** Exit code as a shell would show it: 128 + signal for a process that a signal ended. */
export function exitCodeOf(waitStatus: number): number {
  const signal = waitStatus & 0x7f
  return signal === 0 ? (waitStatus >> 8) & 0xff : 128 + signal
}
