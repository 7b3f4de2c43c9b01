import { rm } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { counterWorld } from './counter-world-for-tests.ts'
import { answer, keptAlive, request } from './counter-requests-for-tests.ts'
import { openGvisorRuntime } from './index.ts'
import { runCommand } from './run-command.ts'
import { gvisorForTests } from './runsc-for-tests.ts'

const found = await gvisorForTests()
const world = counterWorld(found, 'n')

describe.skipIf(found.runscPath === undefined)(`the network of a sandbox ${found.reason}`, () => {
  beforeAll(world.begin)
  afterEach(world.terminateAll)
  afterAll(world.end)

  test.skipIf(found.isOld)(
    'a connection that is open at the checkpoint is cut, and the restored listener answers',
    async () => {
      const ipAddress = await world.started('open')
      await answer(ipAddress)
      const idle = await keptAlive(ipAddress)
      const from = world.folder()
      expect(await world.runtime.checkpoint('open', from)).toMatchObject({ kind: 'saved' })
      idle.destroy()
      const before = performance.now()
      expect(await answer(await world.restored('open', from))).toBe(
        'memory count: 2 | file count: 2 | rootfs count: 2',
      )
      const { cpuSeconds } = await world.runtime.stats('open')
      await pause(500)
      const spent = (await world.runtime.stats('open')).cpuSeconds - cpuSeconds
      // a server that spins on the dead connection would take all of it
      expect(spent, `after ${performance.now() - before} ms`).toBeLessThan(0.25)
    },
  )

  test('a request to a sandbox that is gone ends on this machine', async () => {
    const ipAddress = await world.started('past')
    await answer(ipAddress)
    await world.runtime.terminate('past')
    await expect(request(ipAddress, '/', 500)).rejects.toThrow()
    await expect(request(`${world.network}.250.2`, '/', 500)).rejects.toThrow(/fetch failed/)
  })

  test('a network that is used for something else is refused', async () => {
    const taken = `10.${120 + (process.pid % 20)}`
    await runCommand('ip', ['route', 'add', `${taken}.3.0/24`, 'dev', 'lo'], { timeoutMs: 5_000 })
    const options = {
      runscPath: found.runscPath ?? '',
      stateDir: join(world.stateDir, 'other'),
      nodeTag: `o${world.tag}`.slice(0, 6),
    }
    const opened = openGvisorRuntime({ ...options, runDir: `${world.runDir}-o`, network: taken })
    await expect(opened).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    await runCommand('ip', ['route', 'del', `${taken}.3.0/24`], { timeoutMs: 5_000 })
    await rm(`${world.runDir}-o`, { recursive: true, force: true })
  })

  test.skipIf(!found.hasPacketFilter)('an actor begins no connection to its node', async () => {
    const ipAddress = await world.started('curious')
    await answer(ipAddress)
    const listener = createServer((socket) => socket.end('secret'))
    await new Promise<void>((resolve) => listener.listen(0, '0.0.0.0', resolve))
    const { port } = listener.address() as AddressInfo
    const gateway = ipAddress.replace(/\d+$/, (last) => `${Number(last) - 1}`)
    const script = `const s = require("net").connect(${port}, "${gateway}"); s.on("data", (d) => console.log("" + d))
      s.on("error", () => console.log("refused")); setTimeout(() => { console.log("no way"); process.exit() }, 1000)`
    const { output } = await world.runtime.exec('curious', ['/bin/node', '-e', script])
    listener.close()
    expect(output).toBe('no way\n')
  })
})
