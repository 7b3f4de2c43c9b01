import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DataFolderBusy } from './data-lock.ts'
import { identifyProcess, isAlive, type ProcessIdentity } from './process-identity.ts'
import type { PartDefinition, PartEvent } from './part.ts'
import { readRunRecords } from './run-records.ts'
import { openSupervisor, type Supervisor } from './supervisor.ts'
import { waitUntil } from './wait-until.ts'

const WAIT_MS = 20_000

const script = (name: string, code: string, more: Partial<PartDefinition> = {}): PartDefinition => ({
  name,
  command: process.execPath,
  args: ['--input-type=module', '-e', code],
  readyWhen: { kind: 'ready-line' },
  ...more,
})

const SERVES = "console.log('READY worker here:' + process.pid); setInterval(() => {}, 1000)"
const IGNORES_TERM = `process.on('SIGTERM', () => {}); ${SERVES}`

let dataFolder = ''
let supervisor: Supervisor | undefined
let events: PartEvent[] = []

beforeEach(() => {
  dataFolder = mkdtempSync(path.join(tmpdir(), 'torpor-supervisor-'))
  events = []
})

afterEach(async () => {
  await supervisor?.stop()
  supervisor = undefined
  rmSync(dataFolder, { recursive: true, force: true })
})

const open = async (): Promise<Supervisor> => {
  supervisor = await openSupervisor({ dataFolder, onEvent: (event) => events.push(event) })
  return supervisor
}

const processOf = (name: string): ProcessIdentity => {
  const pid = supervisor?.status().find((part) => part.name === name)?.pid
  const identity = pid === undefined ? undefined : identifyProcess(pid)
  if (!identity) throw new Error(`${name} does not run`)
  return identity
}

const becomesReadyAgain = (name: string, starts: number): Promise<boolean> =>
  waitUntil(
    () =>
      supervisor
        ?.status()
        .some((part) => part.name === name && part.state === 'ready' && part.starts >= starts) === true,
    WAIT_MS,
  )

describe('a part', () => {
  test('is ready when it says so, and its address is what it printed', async () => {
    const address = await (await open()).startPart(script('worker', SERVES))
    expect(address).toBe(`here:${processOf('worker').pid}`)
    expect(events.map(({ kind }) => kind)).toEqual(['started', 'ready'])
  })

  test('is ready when a port answers', async () => {
    const code =
      "import { createServer } from 'node:http'; createServer((_, r) => r.end('x')).listen(+process.env.PORT, '127.0.0.1')"
    const port = 20_000 + (process.pid % 10_000)
    const env = { PORT: String(port) }
    const started = await open()
    const url = `http://127.0.0.1:${port}/`
    expect(await started.startPart(script('web', code, { env, readyWhen: { kind: 'http', url } }))).toBe(url)
    await started.stopPart('web')
    const tcp = { kind: 'tcp', host: '127.0.0.1', port } as const
    expect(await started.startPart(script('web', code, { env, readyWhen: tcp }))).toBe(`127.0.0.1:${port}`)
  })

  test('that is killed with SIGKILL comes back, as another process', async () => {
    const started = await open()
    await started.startPart(script('worker', SERVES))
    const first = processOf('worker')
    started.killPart('worker')
    expect(await becomesReadyAgain('worker', 2)).toBe(true)
    expect(isAlive(first)).toBe(false)
    expect(processOf('worker').pid).not.toBe(first.pid)
    expect(events.map(({ kind }) => kind)).toEqual([
      'started',
      'ready',
      'exited',
      'restarting',
      'started',
      'ready',
    ])
    expect(events.find(({ kind }) => kind === 'exited')).toMatchObject({ reason: 'ended by SIGKILL' })
  })

  test('that is not to be restarted stays ended', async () => {
    const started = await open()
    await started.startPart(script('worker', SERVES, { restart: false }))
    started.killPart('worker')
    expect(await waitUntil(() => events.some(({ kind }) => kind === 'gave-up'), WAIT_MS)).toBe(true)
    expect(started.status()[0]).toMatchObject({ state: 'failed', pid: undefined, starts: 1 })
  })

  test('that ends at once is told with its reason and its log', async () => {
    const started = await open()
    const start = started.startPart(script('broken', "console.error('no such setting'); process.exit(3)"))
    await expect(start).rejects.toThrow(/broken did not come up: ended with code 3; see .*broken\.log/)
    expect(readFileSync(path.join(dataFolder, 'logs/broken.log'), 'utf8')).toContain('no such setting')
  })

  test('that is killed before it is ready is started again, and the first start succeeds', async () => {
    const marker = path.join(dataFolder, 'was-killed')
    const code = `import { existsSync, writeFileSync } from 'node:fs'
      if (existsSync('${marker}')) { ${SERVES} }
      else { writeFileSync('${marker}', ''); process.kill(process.pid, 'SIGKILL') }`
    const address = await (await open()).startPart(script('worker', code))
    expect(address).toBe(`here:${processOf('worker').pid}`)
    expect(events.map(({ kind }) => kind)).toEqual(['started', 'exited', 'restarting', 'started', 'ready'])
  })

  test('that is killed before it is ready and is not to be restarted fails its start', async () => {
    const code = "process.kill(process.pid, 'SIGKILL')"
    const start = (await open()).startPart(script('worker', code, { restart: false }))
    await expect(start).rejects.toThrow('worker did not come up: ended by SIGKILL')
    expect(readRunRecords(path.join(dataFolder, 'run')).size).toBe(0)
  })

  test('that never becomes ready is ended when its limit is over', async () => {
    const started = await open()
    const start = started.startPart(script('mute', 'setInterval(() => {}, 1000)', { readyMsMax: 300 }))
    await expect(start).rejects.toThrow('not ready in 300 ms')
    const identity = events.flatMap((event) => (event.kind === 'started' ? [event.process] : []))[0]
    expect(identity && isAlive(identity)).toBe(false)
  })

  test('whose program is not there is told', async () => {
    const start = (await open()).startPart(script('ghost', '', { command: '/no/such/program' }))
    await expect(start).rejects.toThrow(/ghost did not come up: could not be started: .*ENOENT/)
  })

  test('may be started once only under one name', async () => {
    const started = await open()
    await started.startPart(script('worker', SERVES))
    await expect(started.startPart(script('worker', SERVES))).rejects.toThrow('part worker is there already')
  })
})

describe('stopping', () => {
  test('asks first, kills what does not end in time, and leaves no process and no record', async () => {
    const started = await open()
    await started.startPart(script('polite', SERVES))
    await started.startPart(script('stubborn', IGNORES_TERM, { stopMsMax: 200 }))
    const processes = [processOf('polite'), processOf('stubborn')]
    await started.stop()
    expect(processes.map(isAlive)).toEqual([false, false])
    expect(events.filter(({ kind }) => kind === 'stopped')).toEqual([
      { kind: 'stopped', part: 'stubborn', killed: true },
      { kind: 'stopped', part: 'polite', killed: false },
    ])
    expect(readRunRecords(path.join(dataFolder, 'run')).size).toBe(0)
    expect(existsSync(path.join(dataFolder, 'lock'))).toBe(false)
  })

  test('during a back-off ends the waiting', async () => {
    const once = path.join(dataFolder, 'came-up-before')
    const code = `import { existsSync, writeFileSync } from 'node:fs'
      if (existsSync('${once}')) process.exit(1)
      writeFileSync('${once}', ''); ${SERVES}`
    const started = await open()
    await started.startPart(script('worker', code))
    started.killPart('worker')
    expect(await waitUntil(() => started.status()[0]?.state === 'waiting', WAIT_MS)).toBe(true)
    await started.stop()
    expect(events.at(-1)).toMatchObject({ kind: 'stopped', part: 'worker' })
  })

  test('in the midst of a start fails that start; both stops end when all has ended', async () => {
    const started = await open()
    const start = started.startPart(script('mute', 'setInterval(() => {}, 1000)'))
    start.catch(() => undefined)
    expect(await waitUntil(() => events.length === 1, WAIT_MS)).toBe(true)
    const mute = processOf('mute')
    const [, second] = [started.stop(), started.stop()]
    await second
    expect(isAlive(mute)).toBe(false)
    await expect(start).rejects.toThrow('mute did not come up')
  })

  test('takes the whole group of a part that asks for it', async () => {
    const code = `import { spawn } from 'node:child_process'
      const child = spawn('sleep', ['600'], { stdio: 'ignore' })
      console.log('READY parent ' + child.pid); setInterval(() => {}, 1000)`
    const started = await open()
    const address = await started.startPart(script('parent', code, { endsGroup: true, restart: false }))
    const child = identifyProcess(Number(address))
    if (!child) throw new Error('the child does not run')
    started.killPart('parent')
    expect(await waitUntil(() => !isAlive(child), WAIT_MS)).toBe(true)
  })
})

describe('a data folder', () => {
  test('belongs to one supervisor at a time, and the second one is told in one line', async () => {
    await open()
    const second = openSupervisor({ dataFolder })
    await expect(second).rejects.toThrow(DataFolderBusy)
    await expect(second).rejects.toThrow(`${dataFolder} is in use by process ${process.pid}`)
  })

  test('of a supervisor that was killed is taken over, and what it left running is ended first', async () => {
    const left = await leaveOrphan()
    const started = await open()
    expect(started.endedOrphans).toEqual(['worker'])
    expect(isAlive(left)).toBe(false)
  })

  test('with the lock of a process whose number went to somebody else is taken over', async () => {
    writeFileSync(path.join(dataFolder, 'lock'), JSON.stringify({ pid: process.pid, startedAt: 'before' }))
    expect((await open()).endedOrphans).toEqual([])
  })

  test('never ends a process that only has the number of an old record', async () => {
    const bystander = spawn('sleep', ['600'], { stdio: 'ignore' })
    await once(bystander, 'spawn')
    mkdirSync(path.join(dataFolder, 'run'))
    const record = { pid: bystander.pid, startedAt: 'before' }
    writeFileSync(path.join(dataFolder, 'run', 'worker.json'), JSON.stringify(record))
    expect((await open()).endedOrphans).toEqual([])
    expect(identifyProcess(bystander.pid ?? 0)).toBeDefined()
    bystander.kill('SIGKILL')
  })
})

/** Runs a supervisor in a process of its own, kills that, and returns what it left running. */
async function leaveOrphan(): Promise<ProcessIdentity> {
  const code = `import { openSupervisor } from ${JSON.stringify(path.join(import.meta.dirname, 'supervisor.ts'))}
    const supervisor = await openSupervisor({ dataFolder: ${JSON.stringify(dataFolder)} })
    await supervisor.startPart(${JSON.stringify(script('worker', SERVES))})
    console.log('up'); setInterval(() => {}, 1000)`
  const owner = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(owner.stdout, 'data')
  owner.kill('SIGKILL')
  await once(owner, 'exit')
  const left = readRunRecords(path.join(dataFolder, 'run')).get('worker')
  if (!left || !isAlive(left)) throw new Error('nothing was left running')
  return left
}
