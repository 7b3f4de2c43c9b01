/**
 * Measures runsc builds against each other: cold start, checkpoint, restore (in one step, and into a sandbox created
 * ahead), 200 MiB of random memory with and without background loading, idle CPU, and a connection that is open at the
 * checkpoint. Builds are interleaved; every sample is kept. See README.md for how to run it.
 */
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { availableParallelism, cpus, release, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

type Build = { readonly name: string; readonly path: string; readonly platform: string }
type Sample = {
  readonly build: string
  readonly app: string
  readonly what: string
  readonly value: number | string
}

const ROUNDS = Number(process.env['ROUNDS'] ?? 8)
const LARGE_ROUNDS = Number(process.env['LARGE_ROUNDS'] ?? ROUNDS / 2)
const IDLE_SECONDS = Number(process.env['IDLE_SECONDS'] ?? 20)
const work = mkdtempSync(join(process.env['WORK'] ?? tmpdir(), 'runsc-choice-'))
const netns = `rc${process.pid}`
const hostLink = `rc${process.pid}h`
const address = '10.231.7.2'
const samples: Sample[] = []

const builds: Build[] = process.argv.slice(2).map((argument) => {
  const [name, path, platform] = argument.split(',')
  if (name === undefined || path === undefined) throw new Error('give each build as name,path[,platform]')
  return { name, path, platform: platform ?? 'systrap' }
})

function ip(lines: readonly string[]): void {
  execFileSync('ip', ['-force', '-batch', '-'], {
    input: lines.join('\n'),
    stdio: ['pipe', 'ignore', 'ignore'],
  })
}
function quietIp(lines: readonly string[]): void {
  try {
    ip(lines)
  } catch {
    // what is already there stays there
  }
}
function giveAddress(): void {
  const inside = [
    'link set lo up',
    `addr add ${address}/30 dev eth0`,
    'link set eth0 up',
    'route add default via 10.231.7.1',
  ]
  spawnSync('ip', ['-force', '-n', netns, '-batch', '-'], { input: inside.join('\n') })
}

async function runsc(build: Build, args: readonly string[]): Promise<number> {
  const flags = [
    '--root',
    join(work, `root-${build.name}`),
    `--platform=${build.platform}`,
    '--network=sandbox',
  ]
  const all = [
    ...flags,
    '--ignore-cgroups',
    '--net-disconnect-ok',
    `--overlay2=root:dir=${work}/overlay`,
    ...args,
  ]
  const script = `echo $$ > /sys/fs/cgroup/cpuacct/${netns}/tasks; exec "$@"`
  const begun = performance.now()
  await new Promise<void>((resolve, reject) => {
    const child = execFile(
      'sh',
      ['-c', script, 'sh', build.path, ...all],
      { timeout: 30_000 },
      () => undefined,
    )
    child.on('error', reject)
    child.on('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`${build.name} ${args[0]}: code ${code}`)),
    )
  })
  return performance.now() - begun
}

/** Resolves with the body, or undefined when there is no answer in time. */
function request(timeoutMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port: 8080 })
    let text = ''
    const end = (value: string | undefined): void => {
      socket.destroy()
      resolve(value)
    }
    socket.setTimeout(timeoutMs, () => end(undefined))
    socket.on('error', () => end(undefined))
    socket.on('connect', () => socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'))
    socket.on('data', (data) => (text += data.toString()))
    socket.on('close', () => resolve(text === '' ? undefined : text.trim().split('\n').at(-1)))
  })
}
async function answer(budgetMs: number): Promise<number | undefined> {
  const begun = performance.now()
  while (performance.now() - begun < budgetMs) {
    const body = await request(2_000)
    if (body !== undefined) return performance.now() - begun
    await pause(2)
  }
  return undefined
}
const cpuSeconds = (): number =>
  Number(readFileSync(`/sys/fs/cgroup/cpuacct/${netns}/cpuacct.usage`, 'utf8')) / 1e9

function bundle(app: string, args: readonly string[]): string {
  const path = join(work, `bundle-${app}`)
  const rootfs = join(path, 'rootfs')
  for (const folder of ['proc', 'tmp', 'dev', 'sys']) mkdirSync(join(rootfs, folder), { recursive: true })
  const namespaces = ['pid', 'ipc', 'uts', 'mount'].map((type) => ({ type }))
  writeFileSync(
    join(path, 'config.json'),
    JSON.stringify({
      ociVersion: '1.0.2',
      process: { user: { uid: 0, gid: 0 }, args, env: ['PATH=/bin'], cwd: '/', noNewPrivileges: true },
      root: { path: 'rootfs' },
      hostname: app,
      mounts: [
        { destination: '/proc', type: 'proc', source: 'proc' },
        { destination: '/tmp', type: 'tmpfs', source: 'tmpfs' },
      ],
      linux: { namespaces: [...namespaces, { type: 'network', path: `/var/run/netns/${netns}` }] },
    }),
  )
  return path
}
function cBundle(app: string, mib: number): string {
  const path = bundle(app, ['/server', String(mib)])
  const source = join(import.meta.dirname, 'server.c')
  execFileSync('cc', ['-O2', '-static', '-o', join(path, 'rootfs/server'), source])
  return path
}
function nodeBundle(): string {
  const server = "let n=0;require('http').createServer((q,s)=>s.end(`count: ${++n}\\n`)).listen(8080)"
  const path = bundle('node', ['/bin/node', '-e', server])
  const libraries = execFileSync('ldd', [process.execPath], { encoding: 'utf8' }).match(/\/\S+/g) ?? []
  const copies = [...libraries.map((file) => [file, file] as const), [process.execPath, 'bin/node'] as const]
  for (const [from, to] of copies) {
    mkdirSync(dirname(join(path, 'rootfs', to)), { recursive: true })
    copyFileSync(from, join(path, 'rootfs', to))
  }
  return path
}
function imageBytes(path: string): number {
  return readdirSync(path).reduce((sum, name) => sum + statSync(join(path, name)).size, 0)
}

let serial = 0
const fresh = (): string => `${netns}-${++serial}`

async function round(build: Build, app: string, path: string): Promise<void> {
  const note = (what: string, value: number | string): void => {
    samples.push({ build: build.name, app, what, value })
  }
  const image = join(work, `image-${build.name}`)
  rmSync(image, { recursive: true, force: true })
  const first = fresh()
  giveAddress()
  note('run', await runsc(build, ['run', '-detach', '-bundle', path, first]))
  await answer(20_000)
  note('checkpoint', await runsc(build, ['checkpoint', '-compression=none', '-image-path', image, first]))
  note('image bytes', imageBytes(image))
  note('delete', await runsc(build, ['delete', '-force', first]))
  const backgrounds = build.name.startsWith('old') ? [[]] : [[], ['-background']]
  for (const background of backgrounds) {
    const suffix = background.length === 0 ? '' : ' background'
    const second = fresh()
    giveAddress()
    const restored = await runsc(build, [
      'restore',
      '-detach',
      ...background,
      '-bundle',
      path,
      '-image-path',
      image,
      second,
    ])
    const waited = await answer(10_000)
    note(`restore${suffix}`, restored)
    note(`restore to answer${suffix}`, waited === undefined ? 'none' : restored + waited)
    await runsc(build, ['delete', '-force', second])
    const third = fresh()
    giveAddress()
    note('create', await runsc(build, ['create', '-bundle', path, third]))
    const into = await runsc(build, [
      'restore',
      '-detach',
      ...background,
      '-bundle',
      path,
      '-image-path',
      image,
      third,
    ])
    const waitedInto = await answer(10_000)
    note(`restore into${suffix}`, into)
    note(`restore into, to answer${suffix}`, waitedInto === undefined ? 'none' : into + waitedInto)
    await runsc(build, ['delete', '-force', third])
  }
}

/** Idle CPU of a restored sandbox, and what becomes of one with a connection open at its checkpoint. */
async function idleAndOpen(build: Build, app: string, path: string): Promise<void> {
  const note = (what: string, value: number | string): void => {
    samples.push({ build: build.name, app, what, value })
  }
  const image = join(work, `image-open-${build.name}`)
  rmSync(image, { recursive: true, force: true })
  const first = fresh()
  giveAddress()
  await runsc(build, ['run', '-detach', '-bundle', path, first])
  await answer(20_000)
  const before = cpuSeconds()
  await pause(IDLE_SECONDS * 1000)
  note('idle cpu %', ((cpuSeconds() - before) / IDLE_SECONDS) * 100)
  const socket = connect({ host: address, port: 8080 }, () =>
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'),
  )
  socket.on('error', () => undefined)
  await new Promise((resolve) => socket.once('data', resolve))
  const second = fresh()
  try {
    await runsc(build, ['checkpoint', '-compression=none', '-image-path', image, first])
    note('open connection: checkpoint', 'saved')
    await runsc(build, ['delete', '-force', first])
    giveAddress()
    await runsc(build, ['restore', '-detach', '-bundle', path, '-image-path', image, second])
    note('open connection: answers', (await answer(4_000)) === undefined ? 'no' : 'yes')
    const then = cpuSeconds()
    await pause(3_000)
    note('open connection: cpu % afterwards', ((cpuSeconds() - then) / 3) * 100)
  } catch (error) {
    note('open connection: failed', String(error))
  }
  socket.destroy()
  for (const id of [first, second]) await runsc(build, ['delete', '-force', id]).catch(() => undefined)
}

/** A sandbox that hangs would spin through all that is measured after it. */
function killLeftOvers(): void {
  for (const pid of readFileSync(`/sys/fs/cgroup/cpuacct/${netns}/cgroup.procs`, 'utf8').split('\n')) {
    if (pid !== '') process.kill(Number(pid), 'SIGKILL')
  }
}

function printTable(): void {
  const groups = Map.groupBy(samples, (sample) => `${sample.app} | ${sample.what} | ${sample.build}`)
  for (const [key, group] of [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const values = group.map(({ value }) => value)
    const numbers = values.filter((value) => typeof value === 'number').toSorted((a, b) => a - b)
    const texts = values.filter((value) => typeof value === 'string')
    const at = (part: number): string => (numbers[Math.floor((numbers.length - 1) * part)] ?? 0).toFixed(1)
    const shown =
      numbers.length === 0 ? '' : `min ${at(0)} median ${at(0.5)} max ${at(1)} n=${numbers.length}`
    console.log(`${key} | ${[shown, ...texts].filter((text) => text !== '').join(' ')}`)
  }
}

mkdirSync(`/sys/fs/cgroup/cpuacct/${netns}`)
mkdirSync(join(work, 'overlay'))
try {
  ip([`netns add ${netns}`, `link add ${hostLink} type veth peer name eth0 netns ${netns}`])
  ip([`addr add 10.231.7.1/30 dev ${hostLink}`, `link set ${hostLink} up`])
  const small: readonly (readonly [string, string])[] = [
    ['c', cBundle('c', 0)],
    ['node', nodeBundle()],
  ]
  const large = cBundle('c200', 200)
  const usable: Build[] = []
  for (const build of builds) {
    const works = await round(build, 'c', small[0]?.[1] ?? '').then(
      () => true,
      () => false,
    )
    samples.push({
      build: build.name,
      app: 'c',
      what: 'usable',
      value: works ? 'yes' : 'no, does not start in 30 s',
    })
    if (works) usable.push(build)
    else killLeftOvers()
  }
  const attempt = async (build: Build, app: string, path: string): Promise<void> => {
    await round(build, app, path).catch((error: unknown) => {
      samples.push({ build: build.name, app, what: 'failed', value: String(error) })
    })
  }
  for (let turn = 0; turn < Math.max(ROUNDS, LARGE_ROUNDS); turn++) {
    for (const [app, path] of turn < ROUNDS ? small : [])
      for (const build of usable) await attempt(build, app, path)
    if (turn < LARGE_ROUNDS) for (const build of usable) await attempt(build, 'c, 200 MiB random', large)
  }
  for (const [app, path] of IDLE_SECONDS > 0 ? small : [])
    for (const build of usable) await idleAndOpen(build, app, path)
} finally {
  killLeftOvers()
  printTable()
  const machine = {
    cpu: cpus()[0]?.model,
    cores: availableParallelism(),
    kernel: release(),
    when: new Date().toISOString(),
  }
  const out = join(import.meta.dirname, `samples-${machine.when.slice(0, 10)}.json`)
  const version = (path: string): string =>
    spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout.split('\n')[0] ?? ''
  const versions = builds.map(({ name, path, platform }) => ({ name, platform, version: version(path) }))
  writeFileSync(
    out,
    `${JSON.stringify({ machine, versions, samples }).replaceAll('{"build"', '\n{"build"')}\n`,
  )
  quietIp([`netns del ${netns}`])
  // builds of 2026 keep the empty network namespace of their gofers as a mount in --root
  for (const build of builds) spawnSync('umount', ['-A', join(work, `root-${build.name}`, 'null-netns')])
  rmSync(work, { recursive: true, force: true })
  spawnSync('rmdir', [`/sys/fs/cgroup/cpuacct/${netns}`])
}
