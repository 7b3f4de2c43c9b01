import { mkdir, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { Socket } from 'node:net'
import { dirname } from 'node:path'
import type { Log } from '../log.ts'
import { machineMonotonicMs } from '../membership/machine-clock.ts'
import type { FenceEvent, FenceState } from './fence.ts'
import { nextFence } from './fence.ts'
import type { Freezer } from './freezer.ts'
import { readMessages, writeMessage } from './lines.ts'

export type GuardOptions = {
  /** Unix socket that the agent connects to. */
  readonly socketPath: string
  readonly freezer: Freezer
  readonly fenceMs: number
  readonly log: Log
}

export type Guard = {
  /** Lets go of the socket. What is frozen stays frozen. */
  close(): Promise<void>
}

const TICK_MS = 250

/**
 * Watches the lease of this node, whether or not its agent lives, and holds all actors still when it is lost. A guard that
 * starts gives the agent the whole time for its first lease; one that finds the node frozen keeps it so.
 */
export async function startGuard({ socketPath, freezer, fenceMs, log }: GuardOptions): Promise<Guard> {
  const agents = new Set<Socket>()
  let state: FenceState = {
    deadlineMs: machineMonotonicMs() + fenceMs,
    fenced: await freezer.isFrozen(),
  }
  let applied = state.fenced
  let applying = Promise.resolve()

  const tell = (socket: Socket): void => writeMessage(socket, { kind: 'fenced', fenced: state.fenced })
  const apply = async (): Promise<void> => {
    if (applied === state.fenced) return
    const { fenced } = state
    await (fenced ? freezer.freeze() : freezer.thaw())
    applied = fenced
    log('warn', fenced ? 'the lease is lost: the node is frozen' : 'the lease is back: the node goes on')
  }
  const on = (event: FenceEvent): void => {
    const before = state.fenced
    state = nextFence(state, event, machineMonotonicMs(), fenceMs)
    if (state.fenced && !before) for (const socket of agents) tell(socket)
    applying = applying
      .then(apply)
      .catch((error: unknown) => log('error', `the node could not be held: ${String(error)}`))
    if (!state.fenced && before) void applying.then(() => agents.forEach(tell))
  }
  const server = createServer((socket) => {
    agents.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => agents.delete(socket))
    tell(socket)
    readMessages(socket, (message) => {
      if (message.kind !== 'fenced') on(message)
    })
  })
  await mkdir(dirname(socketPath), { recursive: true })
  await rm(socketPath, { force: true })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(socketPath, resolve)
  })
  const ticks = setInterval(() => on({ kind: 'tick' }), Math.min(TICK_MS, fenceMs / 4))
  return {
    async close() {
      clearInterval(ticks)
      for (const socket of agents) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
      await applying
      await freezer.leave()
    },
  }
}
