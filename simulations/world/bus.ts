import { fault, systemClock } from '@torpor/contracts'
import type { Bus, BusMessage, Clock } from '@torpor/contracts'

type Handle = Parameters<Bus['subscribe']>[1]
type Interest = {
  readonly filter: readonly string[]
  readonly queue: string | undefined
  readonly handle: Handle
}

/** A message that someone published, for checkers and tests. */
export type BusRecord = { readonly subject: string; readonly data: Uint8Array }

export type SimulatedBus = Bus & {
  /** Everything that was published or asked, in order, as a stream that captures all subjects would have it. */
  readonly records: readonly BusRecord[]
  /** While true nothing is delivered: the bus is cut off. */
  setDown(down: boolean): void
}

/** Records kept; older ones are forgotten. */
const RECORDS_MAX = 100_000

/**
 * A bus inside this process, with the manners of the real one: core subjects with `*` and `>`, queue groups, requests that
 * fail at once when nobody serves the subject.
 */
export function createSimulatedBus(clock: Clock = systemClock): SimulatedBus {
  const interests = new Set<Interest>()
  const records: BusRecord[] = []
  let down = false
  let turn = 0

  const receivers = (subject: string): Interest[] => {
    const matching = [...interests].filter(({ filter }) => matches(filter, subject.split('.')))
    const groups = new Map<string, Interest[]>()
    for (const interest of matching)
      if (interest.queue !== undefined)
        groups.set(interest.queue, [...(groups.get(interest.queue) ?? []), interest])
    turn += 1
    const chosen = [...groups.values()].flatMap((group) => group[turn % group.length] ?? [])
    return [...matching.filter(({ queue }) => queue === undefined), ...chosen]
  }
  const deliver = (message: BusMessage, respond: (data: Uint8Array) => void): number => {
    records.push({ subject: message.subject, data: message.data })
    if (records.length > RECORDS_MAX) records.shift()
    if (down) return 0
    const found = receivers(message.subject)
    for (const interest of found)
      queueMicrotask(() => {
        if (interests.has(interest)) interest.handle(message, respond)
      })
    return found.length
  }
  return {
    records,
    setDown(value) {
      down = value
    },
    publish: (subject, data, headers = {}) => void deliver({ subject, data, headers }, () => undefined),
    request(subject, data, { timeoutMs, headers = {} }) {
      return new Promise((resolve, reject) => {
        const fail = (detail: string): void => reject(fault('BUS_UNAVAILABLE', subject, { detail }))
        const cancel = clock.after(timeoutMs, () => fail(`no answer in ${timeoutMs} ms`))
        const served = deliver({ subject, data, headers, reply: 'reply' }, (answer) => {
          cancel()
          resolve(answer)
        })
        if (served > 0) return
        cancel()
        fail('nobody serves it')
      })
    },
    subscribe(subject, handle, options) {
      const interest = { filter: subject.split('.'), queue: options?.queue, handle }
      interests.add(interest)
      return { unsubscribe: () => void interests.delete(interest) }
    },
    async close() {
      interests.clear()
    },
  }
}

function matches(filter: readonly string[], tokens: readonly string[]): boolean {
  for (const [index, part] of filter.entries()) {
    if (part === '>') return tokens.length > index
    if (part !== '*' && part !== tokens[index]) return false
  }
  return filter.length === tokens.length
}
