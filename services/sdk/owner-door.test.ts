import type { Bus } from '@torpor/contracts'
import {
  GET_SYSTEM,
  SUBJECTS,
  SUBJECT_HEADER,
  actorRef,
  fault,
  shardOf,
  systemClock,
} from '@torpor/contracts'
import { expect, test } from 'vitest'
import { ownerDoor } from './owner-door.ts'

const REF = actorRef('demo', 'a')
const OWNER = SUBJECTS.shardRpc(shardOf('demo', 'a', 4))
const ANY = SUBJECTS.rpc(REF, 'GetActor')

/** A bus on which `served` subjects answer with their own name, and GetSystem with four shards. */
function busThatServes(served: Set<string>) {
  const asked: { subject: string; header: string | undefined }[] = []
  const bus: Pick<Bus, 'request'> = {
    async request(subject, _data, { headers }) {
      if (subject.endsWith(`.${GET_SYSTEM}`)) return encode({ ok: true, result: { shards: 4 } })
      asked.push({ subject, header: headers?.[SUBJECT_HEADER] })
      if (!served.has(subject)) throw fault('BUS_UNAVAILABLE', subject)
      return encode(subject)
    },
  }
  return { bus: bus as Bus, asked }
}
const encode = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))
const NOTHING = new Uint8Array()

test('the first request goes to any control plane, the next straight to the owner of the shard', async () => {
  const { bus, asked } = busThatServes(new Set([OWNER, ANY]))
  const ask = ownerDoor(bus, systemClock)
  await ask(REF, 'GetActor', NOTHING, { timeoutMs: 100 })
  await ask(REF, 'GetActor', NOTHING, { timeoutMs: 100 })
  expect(asked).toEqual([
    { subject: ANY, header: undefined },
    { subject: OWNER, header: ANY },
  ])
})

test('a shard that nobody serves just now is asked for at any control plane', async () => {
  const served = new Set([ANY])
  const { bus, asked } = busThatServes(served)
  const ask = ownerDoor(bus, systemClock)
  await ask(REF, 'GetActor', NOTHING, { timeoutMs: 100 })
  await ask(REF, 'GetActor', NOTHING, { timeoutMs: 100 })
  expect(asked.map(({ subject }) => subject)).toEqual([ANY, OWNER, ANY])
})
