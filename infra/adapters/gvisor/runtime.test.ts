import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { SandboxRuntime, SandboxSpec } from '@torpor/contracts'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { buildCounterImage } from '../../images/build-counter-image.ts'
import { openCgroups } from './cgroups.ts'
import { openGvisorRuntime } from './index.ts'
import { runCommand } from './run-command.ts'
import { gvisorForTests } from './runsc-for-tests.ts'

const found = await gvisorForTests()
const tag = `t${process.pid % 10_000}`.slice(0, 6)
const network = `10.${200 + (process.pid % 30)}`
const runDir = `/run/tp-${tag}`
const worker = `/tp${tag}/worker`
const cgroups = found.runscPath === undefined ? undefined : openCgroups()

describe.skipIf(found.runscPath === undefined)(`the gVisor driver ${found.reason}`, () => {
  let stateDir: string
  let image: string
  let runtime: SandboxRuntime
  let snapshots = 0

  const open = (): Promise<SandboxRuntime> =>
    openGvisorRuntime({ runscPath: found.runscPath ?? '', stateDir, runDir, nodeTag: tag, network })
  const spec = (sandboxId: string, more: Partial<SandboxSpec> = {}): SandboxSpec => ({
    sandboxId,
    image,
    command: [],
    args: [],
    env: {},
    cpuMilli: 1_000,
    memoryMib: 256,
    diskMib: 512,
    durableDirs: [{ name: 'data', mountPath: '/data' }],
    workerCgroup: worker,
    ...more,
  })
  const folder = (): string => join(stateDir, 'snapshots', `${(snapshots += 1)}`)
  const started = async (sandboxId: string, more: Partial<SandboxSpec> = {}): Promise<string> => {
    const { ipAddress } = await runtime.prepare(spec(sandboxId, more))
    await runtime.start(sandboxId)
    return ipAddress
  }
  const restored = async (sandboxId: string, from: string): Promise<string> => {
    const { ipAddress } = await runtime.prepare(spec(sandboxId), from)
    await runtime.restore(sandboxId, from)
    return ipAddress
  }

  beforeAll(async () => {
    stateDir = await mkdtemp('/tmp/tp-gvisor-')
    image = (await buildCounterImage(join(stateDir, 'layout'))).reference
    runtime = await open()
    await runtime.pullImage(image)
  })
  afterEach(async () => {
    for (const { sandboxId } of await runtime.list()) await runtime.terminate(sandboxId)
  })
  afterAll(async () => {
    await runtime.close()
    await cgroups?.remove(`/tp${tag}`)
    await rm(stateDir, { recursive: true, force: true })
  })

  test('counts in memory, on the durable directory and on the root file system go on after two sleeps', async () => {
    const first = await started('counter')
    expect(await answer(first)).toBe('memory count: 1 | file count: 1 | rootfs count: 1')
    const one = folder()
    expect(await runtime.checkpoint('counter', one)).toMatchObject({
      kind: 'saved',
      files: await readdir(one),
    })
    expect(await answer(await restored('counter', one))).toBe(
      'memory count: 2 | file count: 2 | rootfs count: 2',
    )
    const two = folder()
    expect(await runtime.checkpoint('counter', two)).toMatchObject({ kind: 'saved' })
    await rm(one, { recursive: true })
    const again = await restored('counter', two)
    expect(await answer(again)).toBe('memory count: 3 | file count: 3 | rootfs count: 3')
    expect(await runtime.logs('counter', 5)).toEqual([])
  })

  test('two clones of one snapshot go on independently, at addresses of their own', async () => {
    await answer(await started('origin'))
    const golden = folder()
    await runtime.checkpoint('origin', golden)
    const left = await restored('left', golden)
    const right = await restored('right', golden)
    expect(left).not.toBe(right)
    await answer(left)
    expect(await answer(left)).toBe('memory count: 3 | file count: 3 | rootfs count: 3')
    expect(await answer(right)).toBe('memory count: 2 | file count: 2 | rootfs count: 2')
  })

  test('a start from the files of a snapshot keeps the durable directory and nothing else', async () => {
    await answer(await started('files'))
    const from = folder()
    await runtime.checkpoint('files', from)
    const { ipAddress } = await runtime.prepare(spec('files'), from)
    await runtime.start('files')
    expect(await answer(ipAddress)).toBe('memory count: 1 | file count: 2 | rootfs count: 1')
  })

  test('an exit is noticed with its code, of a restored sandbox too', async () => {
    await answer(await started('quits'))
    const from = folder()
    await runtime.checkpoint('quits', from)
    const ipAddress = await restored('quits', from)
    const exit = runtime.exit('quits', AbortSignal.timeout(2_000))
    await request(ipAddress, '/exit').catch(() => undefined)
    expect(await exit).toMatchObject({ reason: 'exited', exitCode: 7 })
    expect(await runtime.list()).toEqual([{ sandboxId: 'quits', ipAddress, alive: false, started: true }])
  })

  test('a sandbox that is killed is noticed within two seconds', async () => {
    await answer(await started('victim'))
    const exit = runtime.exit('victim', AbortSignal.timeout(2_000))
    for (const pid of await membersOf('victim')) process.kill(pid, 'SIGKILL')
    expect(await exit).toMatchObject({ reason: 'killed' })
  })

  test('an actor that takes more memory than its limit ends with the reason memory', async () => {
    await started('hungry', { memoryMib: 64, env: { BALLAST_MIB: '400' } })
    expect(await runtime.exit('hungry', AbortSignal.timeout(20_000))).toMatchObject({ reason: 'memory' })
  })

  test('a command runs inside, and its output comes back', async () => {
    await answer(await started('inside'))
    const script = 'console.log(require("node:fs").readFileSync("/data/count", "utf8"))'
    const { exitCode, output } = await runtime.exec('inside', ['/bin/node', '-e', script])
    expect({ exitCode, output }).toEqual({ exitCode: 0, output: '1\n' })
  })

  test('a paused sandbox answers nothing until it is unpaused', async () => {
    const ipAddress = await started('paused')
    await answer(ipAddress)
    await runtime.pause('paused')
    await expect(request(ipAddress, '/healthz', 300)).rejects.toThrow()
    await runtime.unpause('paused')
    expect(await request(ipAddress, '/healthz')).toBe('ok')
  })

  test('a connection that is open at the checkpoint is cut, and the restored listener answers', async () => {
    const ipAddress = await started('open')
    await answer(ipAddress)
    const idle = await keptAlive(ipAddress)
    const from = folder()
    expect(await runtime.checkpoint('open', from)).toMatchObject({ kind: 'saved' })
    idle.destroy()
    const before = performance.now()
    expect(await answer(await restored('open', from))).toBe(
      'memory count: 2 | file count: 2 | rootfs count: 2',
    )
    const { cpuSeconds } = await runtime.stats('open')
    await pause(500)
    const spent = (await runtime.stats('open')).cpuSeconds - cpuSeconds
    // a server that spins on the dead connection would take all of it
    expect(spent, `after ${performance.now() - before} ms`).toBeLessThan(0.25)
  })

  test('a checkpoint that cannot be written leaves the actor running, and its end is still noticed', async () => {
    const ipAddress = await started('unlucky')
    await answer(ipAddress)
    const taken = folder()
    await mkdir(taken, { recursive: true })
    await mkdir(join(taken, 'checkpoint.img'))
    expect(await runtime.checkpoint('unlucky', taken)).toMatchObject({ kind: 'failedAlive' })
    expect(await answer(ipAddress)).toBe('memory count: 2 | file count: 2 | rootfs count: 2')
    const exit = runtime.exit('unlucky', AbortSignal.timeout(2_000))
    await request(ipAddress, '/exit').catch(() => undefined)
    expect(await exit).toMatchObject({ reason: 'exited', exitCode: 7 })
    expect(await runtime.checkpoint('unlucky', folder())).toMatchObject({ kind: 'failedDead' })
  })

  test('a checkpoint of a sandbox that was just killed says that it is dead', async () => {
    await answer(await started('gone'))
    const exit = runtime.exit('gone', AbortSignal.timeout(2_000))
    for (const pid of await membersOf('gone')) process.kill(pid, 'SIGKILL')
    expect(await runtime.checkpoint('gone', folder())).toMatchObject({ kind: 'failedDead' })
    expect(await exit).toMatchObject({ reason: 'killed' })
  })

  test('an agent that starts anew finds the sandboxes of the one before, and their ends', async () => {
    const ipAddress = await started('survivor')
    await answer(ipAddress)
    await runtime.close()
    runtime = await open()
    expect(await runtime.list()).toEqual([{ sandboxId: 'survivor', ipAddress, alive: true, started: true }])
    expect(await answer(ipAddress)).toBe('memory count: 2 | file count: 2 | rootfs count: 2')
    const exit = runtime.exit('survivor', AbortSignal.timeout(2_000))
    await request(ipAddress, '/exit').catch(() => undefined)
    expect(await exit).toMatchObject({ reason: 'exited', exitCode: 7 })
  })

  test('every verb may be said twice', async () => {
    const once = await runtime.prepare(spec('twice'))
    expect(await runtime.prepare(spec('twice'))).toEqual(once)
    await runtime.start('twice')
    await runtime.start('twice')
    expect(await answer(once.ipAddress)).toBe('memory count: 1 | file count: 1 | rootfs count: 1')
    await runtime.terminate('twice')
    await runtime.terminate('twice')
    expect(await runtime.list()).toEqual([])
  })

  test.skipIf(!found.hasPacketFilter)('an actor begins no connection to its node', async () => {
    const ipAddress = await started('curious')
    await answer(ipAddress)
    const listener = createServer((socket) => socket.end('secret'))
    await new Promise<void>((resolve) => listener.listen(0, '0.0.0.0', resolve))
    const { port } = listener.address() as AddressInfo
    const gateway = ipAddress.replace(/\d+$/, (last) => `${Number(last) - 1}`)
    const script = `const s = require("net").connect(${port}, "${gateway}"); s.on("data", (d) => console.log("" + d))
      s.on("error", () => console.log("refused")); setTimeout(() => { console.log("no way"); process.exit() }, 1000)`
    const { output } = await runtime.exec('curious', ['/bin/node', '-e', script])
    listener.close()
    expect(output).toBe('no way\n')
  })

  test('an actor cannot write more to its root file system than its disk limit, after a restore neither', async () => {
    const fill =
      'const fs = require("fs"), b = Buffer.alloc(1 << 20, 1), f = fs.openSync("/fill", "w"); let n = 0'
    const script = `${fill}; try { for (; n < 600; n++) fs.writeSync(f, b) } catch (e) { console.log(e.code, n > 400) }; fs.unlinkSync("/fill")`
    await answer(await started('full', { memoryMib: 1024 }))
    expect(await runtime.exec('full', ['/bin/node', '-e', script])).toMatchObject({ output: 'ENOSPC true\n' })
    const from = folder()
    await runtime.checkpoint('full', from)
    await runtime.prepare(spec('full', { memoryMib: 1024 }), from)
    await runtime.restore('full', from)
    expect(await runtime.exec('full', ['/bin/node', '-e', script])).toMatchObject({ output: 'ENOSPC true\n' })
  })

  test.each([
    ['oci:/nowhere:latest', 'IMAGE_UNKNOWN'],
    ['no-tag', 'IMAGE_UNKNOWN'],
  ])('an image that does not exist is refused: %s', async (reference, code) => {
    const wanted = reference === 'no-tag' ? image.replace(':latest', ':other') : reference
    await expect(runtime.pullImage(wanted)).rejects.toMatchObject({ code })
  })

  test('a process that does not exist ends in an error, and leaves nothing', async () => {
    await runtime.prepare(spec('absent', { command: ['/bin/absent'] }))
    await expect(runtime.start('absent')).rejects.toThrow(/absent/)
    await runtime.terminate('absent')
    expect(await runtime.list()).toEqual([])
  })

  test('a damaged image is not restored, and leaves nothing', async () => {
    await answer(await started('damaged'))
    const from = folder()
    await runtime.checkpoint('damaged', from)
    await rm(join(from, 'checkpoint.img'))
    await runtime.prepare(spec('damaged'), from)
    await expect(runtime.restore('damaged', from)).rejects.toMatchObject({ code: 'RESTORE_FAILED' })
    await runtime.terminate('damaged')
    expect(await runtime.list()).toEqual([])
  })

  test('after the end nothing is left: no process, namespace, interface, mount, control group or folder', async () => {
    await answer(await started('last'))
    await runtime.terminate('last')
    await runtime.close()
    await cgroups?.remove(worker)
    await cgroups?.remove(`/tp${tag}`)
    expect(await traces()).toEqual({
      processes: [],
      namespaces: [],
      links: [],
      rules: [],
      mounts: [],
      groups: [],
      folders: [],
    })
    runtime = await open()
  })

  async function membersOf(sandboxId: string): Promise<readonly number[]> {
    const names = await readdir(join(stateDir, 'slots'))
    for (const name of names) {
      const record = JSON.parse(await readFile(join(stateDir, 'slots', name, 'slot.json'), 'utf8')) as unknown
      const { cgroup, sandboxId: owner } = record as { cgroup: string; sandboxId?: string }
      if (owner === sandboxId) return (await cgroups?.members(cgroup)) ?? []
    }
    throw new Error(`no slot of ${sandboxId}`)
  }

  async function traces(): Promise<Record<string, readonly string[]>> {
    const mine = (text: string): readonly string[] =>
      text.split('\n').filter((line) => line.includes(`tp${tag}-`) || line.includes(runDir))
    const output = async (file: string, ...args: readonly string[]): Promise<readonly string[]> =>
      mine((await runCommand(file, args, { timeoutMs: 5_000 })).stdout)
    return {
      processes: (await output('ps', '-eo', 'stat,args')).filter((line) => !line.startsWith('Z')),
      namespaces: await output('ip', 'netns', 'list'),
      links: await output('ip', '-o', 'link'),
      rules: found.hasPacketFilter ? await output('iptables-save') : [],
      mounts: mine(await readFile('/proc/mounts', 'utf8')),
      groups: (await cgroups?.children('/'))?.filter((name) => name === `tp${tag}`) ?? [],
      folders: [...(await readdir(join(stateDir, 'slots'))), ...(await readdir(join(stateDir, 'overlays')))],
    }
  }
})

/** The counter's answer, as soon as it listens. */
async function answer(ipAddress: string): Promise<string> {
  const deadline = performance.now() + 15_000
  for (;;) {
    const text = await request(ipAddress, '/').catch(() => undefined)
    if (text !== undefined) return text
    if (performance.now() > deadline) throw new Error(`${ipAddress} does not answer`)
    await pause(5)
  }
}

async function request(ipAddress: string, path: string, timeoutMs = 5_000): Promise<string> {
  const headers = { connection: 'close' }
  const signal = AbortSignal.timeout(timeoutMs)
  const response = await fetch(`http://${ipAddress}:8080${path}`, { headers, signal })
  return (await response.text()).trim()
}

/** A connection that has had an answer and stays open. */
function keptAlive(ipAddress: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: ipAddress, port: 8080 })
    socket.on('error', reject)
    socket.on('connect', () => socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n'))
    socket.once('data', () => {
      socket.on('error', () => undefined)
      resolve(socket)
    })
  })
}
