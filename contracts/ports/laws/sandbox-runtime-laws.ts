import { mkdir, writeFile } from 'node:fs/promises'
import { get } from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../limits.ts'
import type { SandboxRuntime, SandboxSpec } from '../sandbox-runtime.ts'

/** What the laws need to know of a class: how to run the counter there, and how to make its process end. */
export type SandboxLawsWorld = {
  readonly runtime: SandboxRuntime
  /** Answers `GET /` on `port` with `memory count: N | file count: N | rootfs count: N`, each one higher than before. */
  counter(sandboxId: string): SandboxSpec
  readonly port: number
  /** Makes the counter's own process end with exit code 7, as if by itself. */
  endProcess(sandboxId: string, ipAddress: string): Promise<void>
  /** A folder of this test on the disk that generations lie on. */
  readonly folder: string
  /** The runtime that an agent started anew would make over the same state. The old one is not used any more. */
  reopen(): Promise<SandboxRuntime>
  close(): Promise<void>
}

const ANSWER_MS_MAX = 20_000
/** Longer than a restore takes: one that does not wait for its word is seen in this time. */
const HELD_MS = 1_000
let serial = 0

/**
 * The laws of {@link SandboxRuntime}: every class passes them on the real engine, and the simulated one too.
 * @example describeSandboxRuntimeLaws('gVisor', makeGvisorWorld)
 */
export function describeSandboxRuntimeLaws(name: string, make: () => Promise<SandboxLawsWorld>): void {
  describe(`the laws of a sandbox runtime: ${name}`, () => {
    let world: SandboxLawsWorld
    let runtime: SandboxRuntime
    let id: string
    beforeEach(async () => {
      world = await make()
      runtime = world.runtime
      id = `laws-${process.pid}-${++serial}`
    })
    afterEach(async () => {
      for (const sandbox of await runtime.list()) await runtime.terminate(sandbox.sandboxId)
      await world.close()
    })

    const startCounter = async (sandboxId: string): Promise<string> => {
      const { ipAddress } = await runtime.prepare(world.counter(sandboxId))
      await runtime.start(sandboxId)
      return ipAddress
    }
    const count = (ipAddress: string): Promise<string> => answer(`http://${ipAddress}:${world.port}/`)
    const emptyFolder = async (label: string): Promise<string> => {
      const folder = join(world.folder, `${id}-${label}`)
      await mkdir(folder, { recursive: true })
      return folder
    }

    test('a prepared sandbox runs nothing until it is started', async () => {
      await runtime.pullImage(world.counter(id).image)
      const { ipAddress } = await runtime.prepare(world.counter(id))
      await expect(once(`http://${ipAddress}:${world.port}/`)).rejects.toThrow()
      expect(await entry(runtime, id)).toMatchObject({ ipAddress, started: false })
      await runtime.start(id)
      expect(await count(ipAddress)).toBe(counts(1))
      expect(await entry(runtime, id)).toMatchObject({ ipAddress, started: true, alive: true })
    })

    test('a place made from a generation runs nothing of it until it is restored', async () => {
      expect(await count(await startCounter(id))).toBe(counts(1))
      const folder = await emptyFolder('held')
      expect((await runtime.checkpoint(id, folder)).kind).toBe('saved')
      await runtime.terminate(id)
      const { ipAddress } = await runtime.prepare(world.counter(id), folder)
      const heldUntilMs = performance.now() + HELD_MS
      while (performance.now() < heldUntilMs) {
        await expect(once(`http://${ipAddress}:${world.port}/`)).rejects.toThrow()
      }
      expect(await entry(runtime, id)).toMatchObject({ ipAddress, started: false })
      await runtime.restore(id, folder)
      expect(await count(ipAddress)).toBe(counts(2))
    })

    test('preparing twice gives the same place', async () => {
      const first = await runtime.prepare(world.counter(id))
      const second = await runtime.prepare(world.counter(id))
      expect(second).toEqual(first)
    })

    test('an image that does not exist is named, and leaves nothing', async () => {
      const spec = { ...world.counter(id), image: `oci:${world.folder}/no-such-layout:none` }
      await expect(runtime.pullImage(spec.image)).rejects.toMatchObject({ code: 'IMAGE_UNKNOWN' })
      await expect(runtime.prepare(spec)).rejects.toMatchObject({ code: 'IMAGE_UNKNOWN' })
      expect(await entry(runtime, id)).toBeUndefined()
    })

    test('memory, durable files and root file system go on counting after checkpoint and restore', async () => {
      let ipAddress = await startCounter(id)
      for (let round = 0; round < 2; round += 1) {
        expect(await count(ipAddress)).toBe(counts(2 * round + 1))
        expect(await count(ipAddress)).toBe(counts(2 * round + 2))
        const folder = await emptyFolder(String(round))
        const saved = await runtime.checkpoint(id, folder)
        expect(saved.kind).toBe('saved')
        await expect(once(`http://${ipAddress}:${world.port}/`)).rejects.toThrow()
        expect((await entry(runtime, id))?.alive ?? false).toBe(false)
        await runtime.terminate(id)
        ipAddress = (await runtime.prepare(world.counter(id), folder)).ipAddress
        await runtime.restore(id, folder)
      }
      expect(await count(ipAddress)).toBe(counts(5))
    })

    test('two clones of one generation count apart', async () => {
      const ipAddress = await startCounter(id)
      expect(await count(ipAddress)).toBe(counts(1))
      const folder = await emptyFolder('shared')
      expect((await runtime.checkpoint(id, folder)).kind).toBe('saved')
      await runtime.terminate(id)
      const left = await runtime.prepare(world.counter(`${id}-a`), folder)
      const right = await runtime.prepare(world.counter(`${id}-b`), folder)
      await Promise.all([runtime.restore(`${id}-a`, folder), runtime.restore(`${id}-b`, folder)])
      expect(await count(left.ipAddress)).toBe(counts(2))
      expect(await count(left.ipAddress)).toBe(counts(3))
      expect(await count(right.ipAddress)).toBe(counts(2))
    })

    test('a restore from a folder without a generation fails, and the place can be given back', async () => {
      const folder = await emptyFolder('empty')
      const attempt = async (): Promise<void> => {
        await runtime.prepare(world.counter(id), folder)
        await runtime.restore(id, folder)
      }
      await expect(attempt()).rejects.toThrow()
      await runtime.terminate(id)
      expect(await entry(runtime, id)).toBeUndefined()
    })

    test('a checkpoint that cannot be written says honestly whether the sandbox lives', async () => {
      const ipAddress = await startCounter(id)
      expect(await count(ipAddress)).toBe(counts(1))
      const blocked = join(world.folder, `${id}-file`)
      await writeFile(blocked, 'a file where a folder should be')
      const result = await runtime.checkpoint(id, join(blocked, 'inside'))
      expect(result.kind).not.toBe('saved')
      const alive = result.kind === 'failedAlive'
      expect((await entry(runtime, id))?.alive ?? false).toBe(alive)
      if (alive) expect(await count(ipAddress)).toBe(counts(2))
    })

    test('the end of the process is told in time, with its exit code', async () => {
      const ipAddress = await startCounter(id)
      await count(ipAddress)
      const exit = runtime.exit(id, new AbortController().signal)
      const endedAtMs = performance.now()
      await world.endProcess(id, ipAddress)
      expect(await exit).toMatchObject({ reason: 'exited', exitCode: 7 })
      expect(performance.now() - endedAtMs).toBeLessThan(LIMITS.exitNoticeMs)
      expect((await entry(runtime, id))?.alive ?? false).toBe(false)
    })

    test('neither checkpoint nor terminate is told as an exit', async () => {
      await count(await startCounter(id))
      const watch = new AbortController()
      const exit = runtime.exit(id, watch.signal)
      exit.catch(() => undefined)
      expect((await runtime.checkpoint(id, await emptyFolder('end'))).kind).toBe('saved')
      await runtime.terminate(id)
      watch.abort(new Error('watched long enough'))
      await expect(exit).rejects.toThrow('watched long enough')
    })

    test('terminate is idempotent and takes everything away', async () => {
      const ipAddress = await startCounter(id)
      await count(ipAddress)
      await runtime.terminate(id)
      await runtime.terminate(id)
      await runtime.terminate(`${id}-never-was`)
      expect(await entry(runtime, id)).toBeUndefined()
      await expect(once(`http://${ipAddress}:${world.port}/`)).rejects.toThrow()
      expect(await count(await startCounter(id))).toBe(counts(1))
    })

    test('a paused sandbox goes on where it stood', async () => {
      const ipAddress = await startCounter(id)
      expect(await count(ipAddress)).toBe(counts(1))
      await runtime.pause(id)
      await runtime.unpause(id)
      expect(await count(ipAddress)).toBe(counts(2))
    })

    test('the lines that the process wrote can be read', async () => {
      await count(await startCounter(id))
      expect((await runtime.logs(id, 10)).length).toBeGreaterThan(0)
    })

    test('a runtime opened anew finds every sandbox, and says truly whether it lives', async () => {
      const ipAddress = await startCounter(id)
      await count(ipAddress)
      runtime = await world.reopen()
      const found = await entry(runtime, id)
      expect(found).toMatchObject({ sandboxId: id, ipAddress, started: true })
      if (found?.alive === true) {
        expect(await count(ipAddress)).toBe(counts(2))
        const exit = runtime.exit(id, new AbortController().signal)
        await world.endProcess(id, ipAddress)
        expect((await exit).reason).not.toBe('memory')
      }
      await runtime.terminate(id)
      expect(await entry(runtime, id)).toBeUndefined()
    })
  })
}

const counts = (n: number): string => `memory count: ${n} | file count: ${n} | rootfs count: ${n}`

const entry = async (runtime: SandboxRuntime, sandboxId: string) =>
  (await runtime.list()).find((sandbox) => sandbox.sandboxId === sandboxId)

/** One request on a connection of its own: an open one must never meet a checkpoint. */
function once(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = get(
      url,
      { agent: false, headers: { connection: 'close' }, timeout: 1_000 },
      (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => (text += chunk))
        response.on('close', () => resolve(text.trim()))
      },
    )
    request.on('timeout', () => request.destroy(new Error(`${url}: no answer in time`)))
    request.on('error', reject)
  })
}

/** The first answer of a process that may still be starting. */
async function answer(url: string): Promise<string> {
  const deadlineMs = performance.now() + ANSWER_MS_MAX
  for (;;) {
    try {
      return await once(url)
    } catch (error) {
      if (performance.now() > deadlineMs) throw error
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
}
