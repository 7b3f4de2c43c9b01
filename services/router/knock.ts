import type { IncomingMessage } from 'node:http'
import { request } from 'node:http'
import { LIMITS } from '@torpor/contracts'
import { formatHostPort, HTTP_HEADERS } from '@torpor/contracts/http'
import { routeOf } from './domain/route-cache.ts'
import type { Route } from './domain/route-cache.ts'
import type { Gates } from './gate-request.ts'
import { connectInTime } from './gate-request.ts'
import type { Wake } from './wake.ts'

/**
 * A wake that ends where the actor serves. The owner says where the actor is placed as soon as that is in the log, and the
 * gate there says when it serves: the node's report to the owner, its append and the owner's answer are on nobody's way. A
 * gate that turns the router away, or cannot be reached, says nothing about the actor: then its owner is asked how it ended.
 */
export const wakeAtGate =
  (wake: Wake, gates: Gates): Wake =>
  async (ref, commandId) => {
    const placed = await wake(ref, commandId, 'placed')
    if (!placed.ok || placed.result.isStarting !== true) return placed
    if (await knock(gates, routeOf(placed.result))) return placed
    return wake(ref, commandId, 'serving')
  }

/** Asks a gate to say when an execution serves. False when it does not, or nobody is there to say so. */
function knock(gates: Gates, { gate, token }: Route): Promise<boolean> {
  return new Promise((resolve) => {
    const outgoing = request({
      agent: gates.agent,
      ...gate,
      path: '/',
      headers: ['Host', formatHostPort(gate), HTTP_HEADERS.assignment, token, HTTP_HEADERS.knock, '1'],
    })
    connectInTime(outgoing, gates)
    // a gate answers in its own time; this ends the wait for one that is gone without a word
    const tooLate = (): void => void outgoing.destroy(new Error('no answer'))
    const cancelTimer = gates.clock.after(LIMITS.gateKnockMs + gates.limits.gateConnectTimeoutMs, tooLate)
    outgoing.once('response', (answer: IncomingMessage) => {
      answer.on('error', () => undefined)
      answer.resume()
      resolve(answer.statusCode === 204)
    })
    outgoing.on('error', () => resolve(false))
    outgoing.once('close', cancelTimer)
    outgoing.end()
  })
}
