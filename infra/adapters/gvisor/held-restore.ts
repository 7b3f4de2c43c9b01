/**
 * A `runsc restore` that is started long before it may run. It loads its program, its settings and the state of its
 * sandbox, then waits: the file that it is told to log into is a named pipe, and a pipe opens when its other end does.
 * Letting it go is opening the other end, which nobody else has a reason to do: a sandbox that is held runs nothing.
 *
 * H1 it reads the generation that `image` of its slot's folder links to when it is let go, not before.
 * H2 it dies with the agent (`setpriv --pdeathsig`): what a dead agent had not let go never runs.
 */
import { constants, lstatSync, openSync, rmSync, symlinkSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { fault } from '@torpor/contracts'
import { GVISOR_LIMITS } from './options.ts'
import type { CommandResult } from './run-command.ts'

export type HeldRestore = {
  /** Lets it go with this generation; its result when it has ended. Once. */
  release(folder: string): Promise<CommandResult>
  /** Ends it. */
  drop(): void
}

/** The pipe that holds it; made with the slot. */
export const holdPipe = (slotFolder: string): string => join(slotFolder, 'hold')
/** What it restores from: a link that is made when that is known. */
export const imageLink = (slotFolder: string): string => join(slotFolder, 'image')

/**
 * Starts a command that waits for its log to be read.
 * @param start starts it; it must end when the signal aborts
 * @throws INTERNAL when there is no pipe: the command would not wait
 */
export function holdRestore(
  slotFolder: string,
  start: (signal: AbortSignal) => Promise<CommandResult>,
): HeldRestore {
  const pipe = holdPipe(slotFolder)
  if (!lstatSync(pipe, { throwIfNoEntry: false })?.isFIFO())
    throw fault('INTERNAL', pipe, { detail: 'is no named pipe' })
  const ending = new AbortController()
  const result = start(ending.signal)
  result.catch(() => undefined)
  return {
    release: (folder) => {
      rmSync(imageLink(slotFolder), { force: true })
      symlinkSync(folder, imageLink(slotFolder))
      const tooLate = setTimeout(() => ending.abort(), GVISOR_LIMITS.pagesTimeoutMs)
      // both ends: it is open then, whether or not the command has come so far
      const fd = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK)
      const reader = new Socket({ fd, readable: true, writable: false })
      reader.on('error', () => undefined)
      reader.resume()
      return result.finally(() => {
        clearTimeout(tooLate)
        reader.destroy()
      })
    },
    drop: () => ending.abort(),
  }
}
