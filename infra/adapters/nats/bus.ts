import type { Bus, BusMessage } from '@torpor/contracts'
import type { Msg } from '@nats-io/transport-node'
import { headersToRecord } from './message-headers.ts'
import type { BusLink } from './link.ts'
import { unanswered } from './link.ts'

/** Requests, replies and notices over the core of NATS. What is published while the connection is down is dropped. */
export function natsBus(link: BusLink): Bus {
  return {
    publish: (subject, data, headers) =>
      link.publish(subject, data, headers === undefined ? {} : { headers }),

    async request(subject, data, { timeoutMs, headers }) {
      const answer = await link.ask(subject, data, { timeoutMs, headers })
      if (answer.kind === 'answered') return answer.data
      throw unanswered(link, answer, subject)
    },

    subscribe(subject, handle, options) {
      const subscription = link.connection.subscribe(subject, {
        ...(options?.queue === undefined ? {} : { queue: options.queue }),
        callback: (error, message) => {
          if (error === null) deliver(link, message, handle)
          else link.notice('refused', `subscription to ${subject}: ${error.message}`)
        },
      })
      return { unsubscribe: () => subscription.unsubscribe() }
    },

    close: () => link.close(),
  }
}

function deliver(
  link: BusLink,
  message: Msg,
  handle: (message: BusMessage, respond: (data: Uint8Array) => void) => void,
): void {
  const { subject, data, reply } = message
  const received = { subject, data, headers: headersToRecord(message), ...(reply ? { reply } : {}) }
  try {
    handle(received, (answer) => void (reply && link.publish(reply, answer)))
  } catch (thrown) {
    // The client reads many messages at a time: a handler's mistake must not take the others with it, nor be hidden.
    queueMicrotask(() => {
      throw thrown
    })
  }
}
