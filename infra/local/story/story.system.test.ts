import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { machineState } from './leftovers.ts'
import { startDemo } from './running-demo.ts'

const STORY_MS_MAX = 300_000
/** What a demo that is up shows of itself, so that an empty list after its end says something. */
const EVERYTHING = ['cgroup', 'interface', 'mount', 'network', 'port', 'process', 'route', 'rule']
const CAN_GVISOR = process.platform === 'linux' && process.getuid?.() === 0

/** With one kind of sandbox one demo after the other, with the same data. */
const ONE_BY_ONE = { timeout: 2 * STORY_MS_MAX, concurrent: false }
const KINDS = CAN_GVISOR ? ['gVisor', 'simulated'] : ['simulated']

describe.concurrent.each(KINDS)('the story with %s sandboxes', (kind) => {
  let folder = ''
  const words = kind === 'gVisor' ? ['--once'] : ['--once', '--simulated']

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'torpor-story-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test(
    'ends well twice in a row, the second time with the same actor, and leaves nothing',
    ONE_BY_ONE,
    async () => {
      const first = startDemo(folder, words)
      expect(await first.ended(), first.text()).toBe(0)
      for (const line of [
        'ACTOR_STATE_SUSPENDED: SNAPSHOT_OWNER_TAG COMPLETED gen1',
        'memory count: 1 | file count: 1 | rootfs count: 1',
        'memory count: 5 | file count: 5 | rootfs count: 5',
        'suspended (async): SNAPSHOT_OWNER_TAG COMPLETED gen1, SNAPSHOT_OWNER_ACTOR PENDING gen2',
        'after the upload delay: SNAPSHOT_OWNER_ACTOR COMPLETED gen2',
        'suspended (sync): SNAPSHOT_OWNER_ACTOR COMPLETED gen3',
        'memory count: 6 | file count: 6 | rootfs count: 6',
        'memory count: 7 | file count: 7 | rootfs count: 7',
        'wake from the object store',
      ]) {
        expect(first.text()).toContain(line)
      }
      expect(machineState(folder)).toEqual([])
      const second = startDemo(folder, words)
      expect(await second.ended(), second.text()).toBe(0)
      expect(second.text()).toContain('memory count: 8 | file count: 8 | rootfs count: 8')
      expect(machineState(folder)).toEqual([])
    },
  )

  test('stays up until Ctrl-C, and then suspends what runs', ONE_BY_ONE, async () => {
    const demo = startDemo(
      folder,
      words.filter((word) => word !== '--once'),
    )
    await demo.sees('It stays up')
    const seen = new Set(machineState(folder).map((line) => line.split(' ')[0]))
    expect([...seen].toSorted()).toEqual(kind === 'gVisor' ? EVERYTHING : ['port', 'process'])
    demo.interrupt()
    expect(await demo.ended(), demo.text()).toBe(0)
    expect(demo.text()).toMatch(/demo\/my-counter-1 suspended/)
    expect(machineState(folder)).toEqual([])
  })
})

test('a word that is no option is one line and exit code 2', async () => {
  const demo = startDemo(tmpdir(), ['--onec'])
  expect(await demo.ended()).toBe(2)
  expect(demo.text()).toMatch(/^error: .*--onec/)
})
