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
import type { OwnerDoor } from './owner-door.ts'
import { STAYS_AFTER_REQUESTS, ownerDoor } from './owner-door.ts'

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

async function askOften(ask: OwnerDoor, times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) await ask(REF, 'GetActor', NOTHING, { timeoutMs: 100 })
}

test('who asks a few times asks any control plane, who asks often goes straight to the owner of the shard', async () => {
  const { bus, asked } = busThatServes(new Set([OWNER, ANY]))
  await askOften(ownerDoor(bus, systemClock), STAYS_AFTER_REQUESTS + 2)
  expect(asked.slice(0, STAYS_AFTER_REQUESTS).every(({ subject }) => subject === ANY)).toBe(true)
  expect(asked.at(-1)).toEqual({ subject: OWNER, header: ANY })
})

test('a shard that nobody serves just now is asked for at any control plane', async () => {
  const served = new Set([ANY])
  const { bus, asked } = busThatServes(served)
  await askOften(ownerDoor(bus, systemClock), STAYS_AFTER_REQUESTS + 2)
  expect(asked.slice(-2).map(({ subject }) => subject)).toEqual([OWNER, ANY])
})
