/** The world around a router in its tests: a control side that places actors as told, clients, and a real gate. */
import { once } from 'node:events'
import type { Agent, ClientRequest, IncomingMessage } from 'node:http'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { EntityRef, Reply } from '@torpor/contracts'
import { systemClock, systemRandom } from '@torpor/contracts'
import type { Router, RouterOptions } from './router.ts'
import { startRouter } from './router.ts'
import type { Placed, Wake } from './wake.ts'

const DOMAIN = 'actors.localhost'

/** A control side: answers wakes as `answer` says and remembers what it was asked. */
export type ControlSide = {
  readonly calls: { readonly ref: EntityRef; readonly commandId: string }[]
  answer: (ref: EntityRef) => Promise<Reply<Placed>> | Reply<Placed>
  readonly wake: Wake
  /** Says that there may be room again. */
  capacityChanged: () => void
  readonly watchCapacity: RouterOptions['watchCapacity']
}

export function aControlSide(answer: ControlSide['answer']): ControlSide {
  const side: ControlSide = {
    calls: [],
    answer,
    wake: async (ref, commandId) => {
      side.calls.push({ ref, commandId })
      return side.answer(ref)
    },
    capacityChanged: () => undefined,
    watchCapacity: (onChange) => {
      side.capacityChanged = onChange
      return () => undefined
    },
  }
  return side
}

export const startTestRouter = (
  control: ControlSide,
  limits: NonNullable<RouterOptions['limits']> = {},
): Promise<Router> =>
  startRouter({
    listen: '127.0.0.1:0',
    domain: DOMAIN,
    wake: control.wake,
    watchCapacity: control.watchCapacity,
    clock: systemClock,
    random: systemRandom,
    limits,
  })

export type Asking = {
  readonly actor?: string
  readonly path?: string
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
  readonly agent?: Agent
}

/** Begins a request to an actor (`atespace/name`) through a router; its body and end are the caller's. */
export function begin(router: Router, asking: Asking = {}): ClientRequest {
  const { actor = 'demo/counter', path = '/', method = 'GET', headers = {}, agent } = asking
  const [atespace, name] = actor.split('/')
  const outgoing = request(`${router.url}${path}`, {
    method,
    headers: { host: `${name}.${atespace}.${DOMAIN}`, ...headers },
    ...(agent === undefined ? {} : { agent }),
  })
  outgoing.on('error', () => undefined)
  return outgoing
}

export type Answer = { readonly status: number; readonly body: string; readonly message: IncomingMessage }

export async function ask(router: Router, asking: Asking = {}): Promise<Answer> {
  const outgoing = begin(router, asking)
  const answered = once(outgoing, 'response')
  outgoing.end(asking.body)
  const [message] = (await answered) as [IncomingMessage]
  return { status: message.statusCode ?? 0, body: await text(message), message }
}
