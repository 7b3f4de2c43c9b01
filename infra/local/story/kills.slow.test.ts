import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { machineState } from './leftovers.ts'
import { startDemo } from './running-demo.ts'

const PARTS = [
  'nats-server',
  'postgres',
  'control-plane-1',
  'control-plane-2',
  'projector',
  'node-agent',
  'router',
  'guard',
]
/** A line of each of the six steps, printed in its midst. */
const STEPS = [
  'ready  router',
  'ActorTemplate counter',
  'memory count: 1 ',
  '4. It sleeps',
  '5. It wakes',
  'What it took',
]
const RUN_MS_MAX = 400_000
const CAN_GVISOR = process.platform === 'linux' && process.getuid?.() === 0
const WORDS = CAN_GVISOR ? ['--once'] : ['--once', '--simulated']
/** Simulated sandboxes are inside the node agent and die with it. */
const KILLED = CAN_GVISOR ? PARTS : PARTS.filter((part) => part !== 'node-agent')

describe('a part is killed in the midst of each step: every answered request is kept, and the story ends well', () => {
  let folder = ''
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'torpor-kills-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  test.each(KILLED)('%s', { timeout: RUN_MS_MAX }, async (part) => {
    const demo = startDemo(folder, WORDS)
    const killed = new Set<number>()
    for (const step of STEPS) {
      await demo.sees(step)
      killed.add(await demo.killPart(part))
    }
    expect(await demo.ended(), demo.text()).toBe(0)
    expect(killed.size).toBe(STEPS.length)
    expect(demo.text()).toContain('memory count: 7 | file count: 7 | rootfs count: 7')
    expect(machineState(folder)).toEqual([])
  })
})
