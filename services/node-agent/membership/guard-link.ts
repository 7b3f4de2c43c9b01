import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { LIMITS } from '@torpor/contracts'
import type { Clock } from '@torpor/contracts'
import type { GuardPort } from '../context.ts'
import { readMessages, writeMessage } from '../guard/lines.ts'
import type { Log } from '../log.ts'

/** The agent's end of the line to its guard: connects again for ever; the last grant is told again after each connect. */
export function connectGuard(socketPath: string, clock: Clock, log: Log): GuardPort {
  let socket: Socket | undefined
  let lastGrantMs: number | undefined
  let fence: (fenced: boolean) => void = () => undefined
  let closed = false
  let wasConnected = true

  const open = (): void => {
    if (closed) return
    const made = connect(socketPath)
    made.unref()
    made.on('connect', () => {
      socket = made
      wasConnected = true
      if (lastGrantMs !== undefined) writeMessage(made, { kind: 'granted', sentAtMs: lastGrantMs })
    })
    made.on('error', () => undefined)
    made.on('close', () => {
      socket = undefined
      if (wasConnected && !closed) log('warn', `no guard answers on ${socketPath}`)
      wasConnected = false
      clock.after(LIMITS.guardReconnectMs, open)
    })
    readMessages(made, (message) => {
      if (message.kind === 'fenced') fence(message.fenced)
    })
  }
  open()
  return {
    granted(sentAtMs) {
      lastGrantMs = sentAtMs
      if (socket !== undefined) writeMessage(socket, { kind: 'granted', sentAtMs })
    },
    reconciled() {
      if (socket !== undefined) writeMessage(socket, { kind: 'reconciled' })
    },
    onFenced(call) {
      fence = call
    },
    close() {
      closed = true
      socket?.destroy()
    },
  }
}
