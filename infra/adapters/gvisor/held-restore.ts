/**
 * A `runsc restore` that is started before it may run. It loads its program, its settings and the sandbox's state, then
 * waits: the file that it is told to log into is a named pipe, and a pipe opens when its other end does. Whoever is told
 * to go opens the other end; nobody else has a reason to, so a sandbox that is held runs no instruction.
 *
 * It dies with the agent (`setpriv --pdeathsig`): what a dead agent had not let go never runs.
 */
import { constants, lstatSync, openSync } from 'node:fs'
import { Socket } from 'node:net'
import { fault } from '@torpor/contracts'
import type { CommandResult } from './run-command.ts'

/** Name of the pipe in the folder of its slot; made with the slot. */
export const HOLD_PIPE = 'hold'

export type HeldRestore = {
  /** Generation that it restores. */
  readonly imageFolder: string
  /** Lets it go; its result when it has ended. */
  release(): Promise<CommandResult>
  /** Ends it, if it was not let go. */
  drop(): void
}

/**
 * Starts a command that waits for its log, `pipe`, to be read.
 * @param start starts it; it must end when the signal aborts
 * @throws INTERNAL when there is no pipe: the command would not wait
 */
export function holdRestore(
  pipe: string,
  imageFolder: string,
  start: (signal: AbortSignal) => Promise<CommandResult>,
): HeldRestore {
  if (!lstatSync(pipe, { throwIfNoEntry: false })?.isFIFO())
    throw fault('INTERNAL', pipe, { detail: 'is no named pipe' })
  const ending = new AbortController()
  const result = start(ending.signal)
  result.catch(() => undefined)
  return {
    imageFolder,
    release: () => {
      // both ends, so that it is open whether or not the command has come so far
      const fd = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK)
      const reader = new Socket({ fd, readable: true, writable: false })
      reader.on('error', () => undefined)
      reader.resume()
      return result.finally(() => reader.destroy())
    },
    drop: () => ending.abort(),
  }
}
