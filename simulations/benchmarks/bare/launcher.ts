/**
 * The sandbox alone: creates, checkpoints and restores one sandbox with plain `runsc` command lines, for the same image, with
 * the same page layout, on the same file system as the product, and nothing of the product. Its next sandbox is created ahead.
 *
 * A process of its own. Its one argument is JSON (`BareOptions`); it reads a word per line on standard input
 * (`start`, `checkpoint`, `wake`, `call`, `end`) and answers each with a line `{"ms": …}`.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { LIMITS, sleep, systemClock } from '@torpor/contracts'

export type BareOptions = {
  readonly runsc: string
  /** Empty folder for everything of this launcher. */
  readonly folder: string
  /** Unpacked root file system of the image. */
  readonly rootfs: string
  readonly args: readonly string[]
  readonly env: readonly string[]
  readonly port: number
  readonly memoryMib: number
  /** Unique on the machine: name of the network namespace and interface, at most 12 characters. */
  readonly tag: string
  /** Two numbers: the first half of the network's addresses, `10.213`. */
  readonly network: string
}

const options = JSON.parse(process.argv[2] ?? '{}') as BareOptions
const root = join(options.folder, 'run')
const flags = [
  '--root',
  root,
  '--platform=systrap',
  '--network=sandbox',
  '--ignore-cgroups',
  `--overlay2=root:dir=${join(options.folder, 'overlays')}`,
  '--net-disconnect-ok',
]
const PROBE_MS_MAX = 60_000

type Slot = { readonly id: string; readonly index: number; readonly bundle: string; readonly ip: string }
let count = 0
let current: Slot | undefined
let ahead: Slot | undefined
/** The image of the last checkpoint. */
let image: string | undefined

for (const folder of [root, join(options.folder, 'overlays')]) mkdirSync(folder, { recursive: true })
ahead = create()
for await (const word of createInterface({ input: process.stdin })) {
  if (word === 'end') break
  process.stdout.write(`${JSON.stringify({ ms: await run(word) })}\n`)
}
for (const slot of [current, ahead]) if (slot !== undefined) remove(slot)
// runsc keeps the empty network namespace of its file servers as a mount in its root
spawnSync('umount', [join(root, 'null-netns')], { stdio: 'ignore' })
rmSync(options.folder, { recursive: true, force: true })

async function run(word: string): Promise<number> {
  const beganMs = performance.now()
  if (word === 'call') await answered(live())
  if (word === 'start') await begin((slot) => runsc('start', slot.id))
  if (word === 'wake') {
    const from = saved()
    await begin((slot) => runsc('restore', '-detach', '-bundle', slot.bundle, '-image-path', from, slot.id))
  }
  const before = image
  if (word === 'checkpoint') checkpoint()
  const elapsedMs = performance.now() - beganMs
  if (word === 'checkpoint') settle(before)
  ahead ??= create()
  return elapsedMs
}

async function begin(runIt: (slot: Slot) => void): Promise<void> {
  if (ahead === undefined) throw new Error('nothing was created ahead')
  current = ahead
  ahead = undefined
  runIt(current)
  await answered(current)
}

/** Beside the image that it woke from, which is there until the new one is whole: whoever keeps one only can lose both. */
function checkpoint(): void {
  image = join(options.folder, `image-${live().index}`)
  mkdirSync(image)
  runsc('checkpoint', '-compression=none', '-image-path', image, live().id)
}

function settle(before: string | undefined): void {
  if (before !== undefined) rmSync(before, { recursive: true, force: true })
  remove(live())
  current = undefined
}

function saved(): string {
  if (image === undefined) throw new Error('nothing was saved')
  return image
}

function live(): Slot {
  if (current === undefined) throw new Error('nothing runs')
  return current
}

function create(): Slot {
  const index = count
  count += 1
  const slot = {
    id: `${options.tag}-${index}`,
    index,
    bundle: join(options.folder, `bundle-${index}`),
    ip: `${options.network}.${index & 255}.2`,
  }
  const name = `${options.tag}${index}`
  const gateway = `${options.network}.${index & 255}.1`
  ip([`netns add ${name}`, `link add ${name} type veth peer name eth0 netns ${name}`])
  ip([`addr add ${gateway}/24 dev ${name}`, `link set ${name} up`])
  ip(['link set lo up', `addr add ${slot.ip}/24 dev eth0`, 'link set eth0 up'], name)
  ip([`route add default via ${gateway}`], name)
  mkdirSync(join(slot.bundle, 'data'), { recursive: true })
  writeFileSync(join(slot.bundle, 'config.json'), JSON.stringify(spec(slot, name)))
  runsc('create', '-bundle', slot.bundle, slot.id)
  return slot
}

function spec(slot: Slot, namespace: string): object {
  const none: readonly string[] = []
  return {
    ociVersion: '1.0.2',
    process: {
      user: { uid: 0, gid: 0 },
      args: options.args,
      env: options.env,
      cwd: '/',
      capabilities: { bounding: none, effective: none, inheritable: none, permitted: none, ambient: none },
      noNewPrivileges: true,
    },
    root: { path: options.rootfs, readonly: false },
    hostname: 'bare',
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs' },
      { destination: '/sys', type: 'sysfs', source: 'sysfs', options: ['nosuid', 'noexec', 'nodev', 'ro'] },
      { destination: '/data', type: 'bind', source: join(slot.bundle, 'data'), options: ['rbind', 'rw'] },
    ],
    linux: {
      namespaces: [
        ...['pid', 'ipc', 'uts', 'mount'].map((type) => ({ type })),
        { type: 'network', path: `/var/run/netns/${namespace}` },
      ],
    },
  }
}

function remove(slot: Slot): void {
  spawnSync(options.runsc, [...flags, 'delete', '-force', slot.id], { stdio: 'ignore' })
  const name = `${options.tag}${slot.index}`
  spawnSync('ip', ['link', 'del', name], { stdio: 'ignore' })
  spawnSync('ip', ['netns', 'del', name], { stdio: 'ignore' })
}

function runsc(...args: readonly string[]): void {
  execFileSync(options.runsc, [...flags, ...args], { stdio: ['ignore', 'ignore', 'ignore'] })
}

function ip(lines: readonly string[], namespace?: string): void {
  const where = namespace === undefined ? [] : ['-n', namespace]
  execFileSync('ip', [...where, '-batch', '-'], { input: `${lines.join('\n')}\n` })
}

/** Asks until the first answer, with the patience of the product's probe. */
async function answered(slot: Slot): Promise<void> {
  const deadlineMs = performance.now() + PROBE_MS_MAX
  let attemptMs: number = LIMITS.probeAttemptMsMin
  while (performance.now() < deadlineMs) {
    const askedMs = performance.now()
    if (await ask(slot, attemptMs)) return
    if (performance.now() - askedMs >= attemptMs)
      attemptMs = Math.min(attemptMs * 2, LIMITS.probeAttemptMsMax)
    await sleep(systemClock, 2)
  }
  throw new Error(`${slot.id} does not answer`)
}

function ask(slot: Slot, attemptMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(
      {
        host: slot.ip,
        port: options.port,
        path: '/',
        agent: false,
        signal: AbortSignal.timeout(attemptMs),
        headers: { connection: 'close' },
      },
      (response) => {
        response.resume()
        response.on('close', () => resolve(response.statusCode === 200))
      },
    )
    request.on('error', () => resolve(false))
  })
}
