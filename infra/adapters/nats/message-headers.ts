import type { Msg, MsgHdrs } from '@nats-io/transport-node'
import { headers } from '@nats-io/transport-node'

const NONE: Readonly<Record<string, string>> = Object.freeze({})

/** Headers as the ports know them: one value a name, the last one sent. */
export function headersToRecord(message: Msg): Readonly<Record<string, string>> {
  const found = message.headers
  if (found === undefined) return NONE
  return Object.fromEntries(found.keys().map((name) => [name, found.last(name)]))
}

/** The client's form of a plain record; undefined when there is nothing to send. */
export function headersFromRecord(record: Readonly<Record<string, string>> | undefined): MsgHdrs | undefined {
  if (record === undefined) return undefined
  const made = headers()
  for (const [name, value] of Object.entries(record)) made.set(name, value)
  return made
}
