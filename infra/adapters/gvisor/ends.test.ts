import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { counterWorld } from './counter-world-for-tests.ts'
import { clearNode } from './clear-node.ts'
import { answer, request } from './counter-requests-for-tests.ts'
import { gvisorForTests } from './runsc-for-tests.ts'

const found = await gvisorForTests()
const world = counterWorld(found, 'e')
/** It makes network and sandbox, on a machine that may have much else to do. */
const AGENT_STARTS_MS_MAX = 45_000

describe.skipIf(found.runscPath === undefined)(`the end of a sandbox ${found.reason}`, () => {
  beforeAll(world.begin)
  afterEach(world.terminateAll)
  afterAll(world.end)

  test('an exit is noticed with its code, of a restored sandbox too', async () => {
    await answer(await world.started('quits'))
    const from = world.folder()
    await world.runtime.checkpoint('quits', from)
    const ipAddress = await world.restored('quits', from)
    const exit = world.runtime.exit('quits', AbortSignal.timeout(2_000))
    await request(ipAddress, '/exit').catch(() => undefined)
    expect(await exit).toMatchObject({ reason: 'exited', exitCode: 7 })
    expect(await world.runtime.list()).toEqual([
      { sandboxId: 'quits', ipAddress, alive: false, started: true },
    ])
  })

  test('a sandbox that is killed is noticed within two seconds', async () => {
    await answer(await world.started('victim'))
    const exit = world.runtime.exit('victim', AbortSignal.timeout(2_000))
    await world.kill('victim')
    expect(await exit).toMatchObject({ reason: 'killed' })
  })

  test.skipIf(found.isOld)(
    'an actor that takes more memory than its limit ends with the reason memory',
    async () => {
      await world.started('hungry', { memoryMib: 64, env: { BALLAST_MIB: '400' } })
      expect(await world.runtime.exit('hungry', AbortSignal.timeout(20_000))).toMatchObject({
        reason: 'memory',
      })
    },
  )

  test('a checkpoint of a sandbox that was just killed says that it is dead', async () => {
    await answer(await world.started('gone'))
    const exit = world.runtime.exit('gone', AbortSignal.timeout(2_000))
    await world.kill('gone')
    expect(await world.runtime.checkpoint('gone', world.folder())).toMatchObject({ kind: 'failedDead' })
    expect(await exit).toMatchObject({ reason: 'killed' })
  })

  test.skipIf(found.isOld)(
    'an agent that starts anew finds the sandboxes of the one before, and their ends',
    async () => {
      const ipAddress = await world.started('survivor')
      await answer(ipAddress)
      await world.runtime.close()
      world.runtime = await world.open()
      expect(await world.runtime.list()).toEqual([
        { sandboxId: 'survivor', ipAddress, alive: true, started: true },
      ])
      expect(await answer(ipAddress)).toBe('memory count: 2 | file count: 2 | rootfs count: 2')
      const exit = world.runtime.exit('survivor', AbortSignal.timeout(2_000))
      await request(ipAddress, '/exit').catch(() => undefined)
      expect(await exit).toMatchObject({ reason: 'exited', exitCode: 7 })
    },
  )

  test('an agent that is killed leaves nothing but its actors, and the next one has them', async () => {
    await world.runtime.close()
    const work = JSON.stringify({ options: world.options(), spec: world.spec('orphan') })
    const agent = spawn(process.execPath, [join(import.meta.dirname, 'agent-for-tests.ts'), work], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(agent.stdout, 'data', { signal: AbortSignal.timeout(AGENT_STARTS_MS_MAX) })
    agent.kill('SIGKILL')
    await once(agent, 'exit')
    world.runtime = await world.open()
    const [orphan, ...others] = await world.runtime.list()
    expect(orphan).toMatchObject({ sandboxId: 'orphan', alive: true, started: true })
    expect(others).toEqual([])
    expect(await readdir(join(world.stateDir, 'slots'))).toHaveLength(1)
    expect(await answer(orphan?.ipAddress ?? '')).toBe('memory count: 1 | file count: 1 | rootfs count: 1')
    const from = world.folder()
    expect(await world.runtime.checkpoint('orphan', from)).toMatchObject({ kind: 'saved' })
    const back = await world.restored('orphan', from)
    expect(await answer(back)).toBe('memory count: 2 | file count: 2 | rootfs count: 2')
  })

  test('a node whose agent was killed is taken off the machine, frozen or not, and an agent may begin there again', async () => {
    await world.runtime.close()
    const work = JSON.stringify({ options: world.options(), spec: world.spec('swept') })
    const agent = spawn(process.execPath, [join(import.meta.dirname, 'agent-for-tests.ts'), work], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(agent.stdout, 'data', { signal: AbortSignal.timeout(AGENT_STARTS_MS_MAX) })
    agent.kill('SIGKILL')
    await once(agent, 'exit')
    await world.cgroups().freeze(`/tp${world.tag}`)
    const { nodeTag, stateDir, runDir } = world.options()
    await clearNode({ nodeTag, stateDir, runDir, workersCgroup: world.worker })
    await clearNode({ nodeTag, stateDir, runDir, workersCgroup: world.worker })
    const { folders, ...left } = await world.traces()
    expect(folders).not.toEqual([])
    expect(Object.values(left).flat()).toEqual([])
    world.runtime = await world.open()
    expect(await world.runtime.list()).toMatchObject([{ sandboxId: 'swept', alive: false }])
    await world.runtime.terminate('swept')
    await answer(await world.started('next'))
  })

  test('after the end nothing is left: no process, namespace, interface, mount, control group or folder', async () => {
    await answer(await world.started('last'))
    const unseen = Object.entries(await world.traces()).filter(([, lines]) => lines.length === 0)
    expect(unseen.map(([name]) => name)).toEqual(found.hasPacketFilter ? [] : ['rules'])
    await world.runtime.terminate('last')
    await world.runtime.close()
    await world.cgroups().remove(world.worker)
    await world.cgroups().remove(`/tp${world.tag}`)
    expect(await world.traces()).toEqual({
      processes: [],
      namespaces: [],
      links: [],
      rules: [],
      routes: [],
      mounts: [],
      groups: [],
      folders: [],
    })
    world.runtime = await world.open()
  })
})
