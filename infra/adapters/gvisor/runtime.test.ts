import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { counterWorld } from './counter-world-for-tests.ts'
import { answer, request } from './counter-requests-for-tests.ts'
import { gvisorForTests } from './runsc-for-tests.ts'

const found = await gvisorForTests()
const world = counterWorld(found, 'r')

describe.skipIf(found.runscPath === undefined)(`the gVisor driver ${found.reason}`, () => {
  beforeAll(world.begin)
  afterEach(world.terminateAll)
  afterAll(world.end)

  test('counts in memory, on the durable directory and on the root file system go on after two sleeps', async () => {
    const first = await world.started('counter')
    expect(await answer(first)).toBe('memory count: 1 | file count: 1 | rootfs count: 1')
    const one = world.folder()
    expect(await world.runtime.checkpoint('counter', one)).toMatchObject({
      kind: 'saved',
      files: await readdir(one),
    })
    expect(await answer(await world.restored('counter', one))).toBe(
      'memory count: 2 | file count: 2 | rootfs count: 2',
    )
    const two = world.folder()
    expect(await world.runtime.checkpoint('counter', two)).toMatchObject({ kind: 'saved' })
    await rm(one, { recursive: true })
    const again = await world.restored('counter', two)
    expect(await answer(again)).toBe('memory count: 3 | file count: 3 | rootfs count: 3')
    expect(await world.runtime.logs('counter', 5)).toEqual([])
  })

  test('two clones of one snapshot go on independently, at addresses of their own', async () => {
    await answer(await world.started('origin'))
    const golden = world.folder()
    await world.runtime.checkpoint('origin', golden)
    const left = await world.restored('left', golden)
    const right = await world.restored('right', golden)
    expect(left).not.toBe(right)
    await answer(left)
    expect(await answer(left)).toBe('memory count: 3 | file count: 3 | rootfs count: 3')
    expect(await answer(right)).toBe('memory count: 2 | file count: 2 | rootfs count: 2')
  })

  test('a start from the files of a snapshot keeps the durable directory and nothing else', async () => {
    await answer(await world.started('files'))
    const from = world.folder()
    await world.runtime.checkpoint('files', from)
    const { ipAddress } = await world.runtime.prepare(world.spec('files'), from)
    await world.runtime.start('files')
    expect(await answer(ipAddress)).toBe('memory count: 1 | file count: 2 | rootfs count: 1')
  })

  test('a command runs inside, and its output comes back', async () => {
    await answer(await world.started('inside'))
    const script = 'console.log(require("node:fs").readFileSync("/data/count", "utf8"))'
    const { exitCode, output } = await world.runtime.exec('inside', ['/bin/node', '-e', script])
    expect({ exitCode, output }).toEqual({ exitCode: 0, output: '1\n' })
  })

  test('a paused sandbox answers nothing until it is unpaused', async () => {
    const ipAddress = await world.started('paused')
    await answer(ipAddress)
    await world.runtime.pause('paused')
    await expect(request(ipAddress, '/healthz', 300)).rejects.toThrow()
    await world.runtime.unpause('paused')
    expect(await request(ipAddress, '/healthz')).toBe('ok')
  })

  test('a checkpoint that cannot be written leaves the actor running, and its end is still noticed', async () => {
    const ipAddress = await world.started('unlucky')
    await answer(ipAddress)
    const taken = world.folder()
    await mkdir(taken, { recursive: true })
    await mkdir(join(taken, 'checkpoint.img'))
    expect(await world.runtime.checkpoint('unlucky', taken)).toMatchObject({ kind: 'failedAlive' })
    expect(await answer(ipAddress)).toBe('memory count: 2 | file count: 2 | rootfs count: 2')
    const exit = world.runtime.exit('unlucky', AbortSignal.timeout(2_000))
    await request(ipAddress, '/exit').catch(() => undefined)
    expect(await exit).toMatchObject({ reason: 'exited', exitCode: 7 })
    expect(await world.runtime.checkpoint('unlucky', world.folder())).toMatchObject({ kind: 'failedDead' })
  })

  test('what is asked of a sandbox that is not there is refused, not thrown', async () => {
    const asked = [
      world.runtime.start('nobody'),
      world.runtime.exit('nobody', AbortSignal.timeout(1_000)),
      world.runtime.pause('nobody'),
      world.runtime.logs('nobody', 1),
      world.runtime.checkpoint('nobody', world.folder()),
    ]
    for (const result of await Promise.allSettled(asked)) {
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'INTERNAL' } })
    }
  })

  test('every verb may be said twice', async () => {
    const once = await world.runtime.prepare(world.spec('twice'))
    expect(await world.runtime.prepare(world.spec('twice'))).toEqual(once)
    await world.runtime.start('twice')
    await world.runtime.start('twice')
    expect(await answer(once.ipAddress)).toBe('memory count: 1 | file count: 1 | rootfs count: 1')
    await world.runtime.terminate('twice')
    await world.runtime.terminate('twice')
    expect(await world.runtime.list()).toEqual([])
  })

  test.skipIf(found.isOld)(
    'an actor cannot write more to its root file system than its disk limit, after a restore neither',
    async () => {
      const fill =
        'const fs = require("fs"), b = Buffer.alloc(1 << 20, 1), f = fs.openSync("/fill", "w"); let n = 0'
      const script = `${fill}; try { for (; n < 600; n++) fs.writeSync(f, b) } catch (e) { console.log(e.code, n > 400) }; fs.unlinkSync("/fill")`
      await answer(await world.started('full', { memoryMib: 1024 }))
      expect(await world.runtime.exec('full', ['/bin/node', '-e', script])).toMatchObject({
        output: 'ENOSPC true\n',
      })
      const from = world.folder()
      await world.runtime.checkpoint('full', from)
      await world.runtime.prepare(world.spec('full', { memoryMib: 1024 }), from)
      await world.runtime.restore('full', from)
      expect(await world.runtime.exec('full', ['/bin/node', '-e', script])).toMatchObject({
        output: 'ENOSPC true\n',
      })
    },
  )

  test.each([
    ['oci:/nowhere:latest', 'IMAGE_UNKNOWN'],
    ['no-tag', 'IMAGE_UNKNOWN'],
  ])('an image that does not exist is refused: %s', async (reference, code) => {
    const wanted = reference === 'no-tag' ? world.image.replace(':latest', ':other') : reference
    await expect(world.runtime.pullImage(wanted)).rejects.toMatchObject({ code })
  })

  test('a process that does not exist ends in an error, and leaves nothing', async () => {
    await world.runtime.prepare(world.spec('absent', { command: ['/bin/absent'] }))
    await expect(world.runtime.start('absent')).rejects.toThrow(/absent/)
    await world.runtime.terminate('absent')
    expect(await world.runtime.list()).toEqual([])
  })

  test('a damaged image is not restored, and leaves nothing', async () => {
    await answer(await world.started('damaged'))
    const from = world.folder()
    await world.runtime.checkpoint('damaged', from)
    await rm(join(from, 'checkpoint.img'))
    await world.runtime.prepare(world.spec('damaged'), from)
    await expect(world.runtime.restore('damaged', from)).rejects.toMatchObject({ code: 'RESTORE_FAILED' })
    await world.runtime.terminate('damaged')
    expect(await world.runtime.list()).toEqual([])
  })
})
