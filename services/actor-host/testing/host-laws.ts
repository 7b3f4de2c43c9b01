import type { ChainPosition, EntityRef, EventLog, FrameHeader, HostCommand } from '@torpor/contracts'
import {
  CHAIN_START,
  NO_PREVIOUS,
  cloudEventType,
  encodeFrame,
  entityKey,
  followChain,
} from '@torpor/contracts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ActorHost } from '../actor-host.ts'
import { auditLog } from '@torpor/simulations/checkers/audit-log'
import { counterRef, settle } from './simulated-world.ts'

/** Where hosts run on some log: simulated or real. */
export type HostWorld = {
  /** A connection of its own, for who reads or disturbs. */
  readonly log: EventLog
  spawn(owner: string): Promise<ActorHost>
  command(type: string, target: EntityRef, data?: unknown): HostCommand
  /** Lets time go by until the promise is settled. */
  run<Result>(promise: Promise<Result>): Promise<Result>
  until(condition: () => boolean): Promise<void>
  close(): Promise<void>
}

const WRITERS = 40
const TURNS = 10

/** What a host keeps on every log; each law ends with an audit of the log by the contracts alone. */
export function describeHostLaws(name: string, make: () => Promise<HostWorld>): void {
  describe(`a host on ${name}`, () => {
    let world: HostWorld
    beforeEach(async () => {
      world = await make()
    })
    afterEach(async () => {
      await world.close()
    })
    describeWork(() => world)
    describeStrangers(() => world)
  })
}

function describeWork(world: () => HostWorld): void {
  test('counts every answered command once, with many writers at a time', async () => {
    const { spawn, run, log } = world()
    const host = await spawn('one')
    await run(createCounters(world(), host))
    await run(Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(world(), host, writer))))
    const frames = await run(allFrames(log, 0))
    const audit = auditLog(frames)
    for (const ref of COUNTERS) {
      expect(host.peek(ref)).toMatchObject({ count: (WRITERS * TURNS) / COUNTERS.length })
      expect(audit.states.get(entityKey(ref))).toEqual(host.peek(ref))
    }
    expect([...audit.framesOfCommand.values()].every((count) => count === 1)).toBe(true)
    expect(frames.length).toBeLessThan(WRITERS * TURNS)
  })

  test('hands everything over to the next', async () => {
    const { spawn, run, until, command } = world()
    const one = await spawn('one')
    await run(createCounters(world(), one))
    const last = command('Count', counterRef('c0'), { by: 3 })
    await run(one.submit(last))
    const before = COUNTERS.map((ref) => one.peek(ref))
    await run(one.close())
    const two = await spawn('two')
    await until(() => two.owns(0))
    expect(COUNTERS.map((ref) => two.peek(ref))).toEqual(before)
    expect(await run(two.submit(last))).toMatchObject({ ok: true, version: 2, duplicate: true })
  })
}

function describeStrangers(world: () => HostWorld): void {
  test('gives its shard up to one who took the log over, and may take it again under a higher epoch', async () => {
    const { spawn, run, until, command, log } = world()
    const host = await spawn('one')
    await run(host.submit(command('Create', counterRef('c0'))))
    await run(appendAs(log, 0, 'stranger', (position) => position.epoch + 1))
    const end = await run(settle(host.submit(command('Count', counterRef('c0'), { by: 1 }))))
    expect(end).toEqual({ kind: 'fault', code: 'SHARD_MOVED' })
    await until(() => host.owns(0))
    expect(await run(host.submit(command('Count', counterRef('c0'), { by: 5 })))).toMatchObject({
      version: 2,
    })
    const audit = auditLog(await run(allFrames(log, 0)))
    expect(audit.headers.map(({ epoch }) => epoch)).toEqual([1, 1, 2, 3, 3])
    expect(audit.states.get('actor/demo/c0')).toMatchObject({ count: 5 })
  })

  test('passes over a frame of an epoch that is over, and goes on', async () => {
    const { spawn, run, command, log } = world()
    const one = await spawn('one')
    await run(one.submit(command('Create', counterRef('c0'))))
    await run(one.close())
    const host = await spawn('two')
    await run(appendAs(log, 0, 'one', () => 1))
    expect(await run(host.submit(command('Count', counterRef('c0'))))).toMatchObject({ ok: true, version: 2 })
    const audit = auditLog(await run(allFrames(log, 0)))
    expect(audit.voidEvents).toHaveLength(1)
    expect(audit.headers.at(-1)?.epoch).toBe(3)
  })
}

const COUNTERS: readonly EntityRef[] = [0, 1, 2, 3].map((index) => counterRef(`c${index}`))

const createCounters = (world: HostWorld, host: ActorHost): Promise<unknown> =>
  Promise.all(COUNTERS.map((ref) => host.submit(world.command('Create', ref))))

async function write({ command }: HostWorld, host: ActorHost, writer: number): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) {
    const ref = COUNTERS[(writer + turn) % COUNTERS.length] ?? counterRef('c0')
    expect(await host.submit(command('Count', ref))).toMatchObject({ ok: true, duplicate: false })
  }
}

export async function allFrames(log: EventLog, shard: number): Promise<Uint8Array[]> {
  const frames: Uint8Array[] = []
  for await (const { bytes } of log.shard(shard).read(1, await log.shard(shard).lastSequence())) {
    frames.push(bytes)
  }
  return frames
}

/** Appends a `ShardOwned` of someone else under the epoch that is asked for. */
async function appendAs(
  log: EventLog,
  shard: number,
  owner: string,
  epochOf: (position: ChainPosition) => number,
): Promise<void> {
  let position: ChainPosition = CHAIN_START
  for (const bytes of await allFrames(log, shard)) position = followChain(position, bytes).position
  const header: FrameHeader = {
    format: 'torpor.frame.v1',
    shard,
    epoch: epochOf(position),
    frame: position.frame + 1,
    timeMs: position.timeMs,
    frameprev: position.frameprev ?? NO_PREVIOUS,
    commandfloor: 0,
  }
  const line = JSON.stringify({
    specversion: '1.0',
    id: `barrier of ${owner}`,
    source: `torpor/${owner}`,
    type: cloudEventType('ShardOwned'),
    subject: `shard/${shard}`,
    version: header.epoch,
    epoch: header.epoch,
    actorprev: NO_PREVIOUS,
    data: { owner },
  })
  const result = await log.shard(shard).append(encodeFrame(header, [line]), position.frame)
  expect(result).toMatchObject({ kind: 'committed' })
}
