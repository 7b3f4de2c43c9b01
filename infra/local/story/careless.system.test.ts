import { readdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { machineState } from './leftovers.ts'
import { ENTRY, startDemo } from './running-demo.ts'
import type { RunningDemo } from './running-demo.ts'

const RUN_MS_MAX = 300_000
const CAN_GVISOR = process.platform === 'linux' && process.getuid?.() === 0

/** With one kind of sandbox one demo after the other, so that each leaves a clean machine to the next. */
const ONE_BY_ONE = { timeout: RUN_MS_MAX, concurrent: false }

/** What people do to a demo that it does not wish for. */
describe.concurrent.each(CAN_GVISOR ? ['gVisor', 'simulated'] : ['simulated'])(
  'a careless user with %s sandboxes',
  (kind) => {
    const words = kind === 'gVisor' ? [] : ['--simulated']
    let folder = ''
    let demos: RunningDemo[] = []
    const demo = (...more: readonly string[]): RunningDemo => {
      const started = startDemo(folder, [...words, ...more])
      demos.push(started)
      return started
    }
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'torpor careless '))
      demos = []
    })
    afterEach(async () => {
      for (const each of demos) each.interrupt()
      await Promise.all(demos.map((each) => each.ended()))
      await startDemo(folder, ['--remove']).ended()
      await rm(folder, { recursive: true, force: true })
    })

    test(
      'kills the demo: the next one goes on with the actor; kills that too and removes it: nothing is left',
      ONE_BY_ONE,
      async () => {
        const first = demo()
        await first.sees('memory count: 3 ')
        await first.kill()
        expect(machineState(folder)).not.toEqual([])
        const second = demo()
        await second.sees('It stays up')
        expect(second.text()).toContain('ended node-agent, left over from a run that was killed')
        // a simulated sandbox dies with its agent, and its actor goes back to its birth
        expect(second.text()).toMatch(
          kind === 'gVisor'
            ? /memory count: (1[01]) \| file count: \1 \| rootfs count: \1/
            : /it goes back to its newest snapshot[^]*memory count: 7 \| file count: 7 \| rootfs count: 7/,
        )
        const third = demo()
        expect(await third.ended()).toBe(1)
        expect(third.text()).toMatch(/error: .* is in use by process \d+: stop it, or choose another folder/)
        await second.kill()
        const removal = demo('--remove')
        expect(await removal.ended(), removal.text()).toBe(0)
        expect(machineState(folder)).toEqual([])
        expect(readdirSync(folder)).toEqual([])
      },
    )

    test('kills the demo and starts afresh: the counts begin anew', ONE_BY_ONE, async () => {
      const first = demo()
      await first.sees('memory count: 2 ')
      await first.kill()
      const fresh = demo('--fresh', '--once')
      expect(await fresh.ended(), fresh.text()).toBe(0)
      expect(fresh.text()).toContain('memory count: 7 | file count: 7 | rootfs count: 7')
      expect(machineState(folder)).toEqual([])
    })

    test.each(['ready  nats-server', 'ready  control-plane-1', 'memory count: 2 ', '4. It sleeps'])(
      'presses Ctrl-C at "%s": it ends soon, and nothing is left',
      ONE_BY_ONE,
      async (line) => {
        const interrupted = demo('--once')
        await interrupted.sees(line)
        interrupted.interrupt()
        expect(await interrupted.ended(), interrupted.text()).toBe(130)
        expect(interrupted.text()).toMatch(/every process of the demo has ended$/)
        expect(machineState(folder)).toEqual([])
      },
    )

    test.each([
      ['what npm started', ENTRY],
      ['the reaper above it', undefined],
    ])('kills %s: the demo ends by itself, and nothing is left', ONE_BY_ONE, async (_, program) => {
      const headless = startDemo(folder, words, program)
      demos.push(headless)
      await headless.sees('memory count: 2 ')
      headless.killStarter()
      await headless.ended()
      expect(headless.text()).toMatch(/every process of the demo has ended$/)
      expect(machineState(folder)).toEqual([])
    })

    test('presses Ctrl-C twice: it does not wait, and nothing is left', ONE_BY_ONE, async () => {
      const twice = demo()
      await twice.sees('memory count: 2 ')
      twice.interrupt()
      await twice.sees('Ctrl-C once more')
      await new Promise((resolve) => setTimeout(resolve, 400))
      twice.interrupt()
      expect(await twice.ended(), twice.text()).toBe(130)
      expect(machineState(folder)).toEqual([])
    })
  },
)

test.each(['--once', '--fresh', '--remove'])(
  'a data folder that cannot be made is one line and exit code 1, with %s',
  async (word) => {
    const folder = await mkdtemp(join(tmpdir(), 'torpor-careless-'))
    writeFileSync(join(folder, 'file'), '')
    const demo = startDemo(join(folder, 'file', 'data'), [word, '--simulated'])
    expect(await demo.ended()).toBe(1)
    expect(demo.text()).toMatch(/^error: .*file\/data.*$/m)
    await rm(folder, { recursive: true })
  },
)
