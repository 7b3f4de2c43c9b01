import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { counterWorld } from './counter-world-for-tests.ts'
import { answer, keptAlive, request } from './counter-requests-for-tests.ts'
import { claimNetwork, releaseNetwork } from './network-claim.ts'
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

  test('a network that is used for something else is refused, and one that is free is found', async () => {
    const taken = `10.${120 + (process.pid % 20)}`
    const ip = (...args: readonly string[]) => runCommand('ip', args, { timeoutMs: 5_000 })
    await ip('route', 'add', `${taken}.3.0/24`, 'dev', 'lo')
    const other = { nodeTag: `o${world.tag}`.slice(0, 6), stateDir: join(world.stateDir, 'other') }
    await expect(claimNetwork(other, taken)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    await expect(claimNetwork(other, world.network)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    const found = await claimNetwork(other, undefined)
    const third = { nodeTag: `p${world.tag}`.slice(0, 6), stateDir: join(world.stateDir, 'third') }
    const another = await claimNetwork(third, undefined)
    expect(await claimNetwork(other, undefined)).toBe(found)
    await releaseNetwork(other, found)
    await releaseNetwork(third, another)
    await ip('route', 'del', `${taken}.3.0/24`)
    expect(found).not.toBe(another)
    expect((await ip('route', 'show')).stdout).not.toContain(`unreachable ${another}.`)
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
