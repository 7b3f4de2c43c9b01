import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fault } from '@torpor/contracts'
import type {
  CheckpointResult,
  Random,
  SandboxExit,
  SandboxRuntime,
  SandboxRuntimeVersion,
  SandboxSpec,
} from '@torpor/contracts'
import type { CounterProcess } from './counter-process.ts'
import { newCounter, startCounter } from './counter-process.ts'
import { readGeneration, writeGeneration } from './generation-files.ts'
import { loopbackAddresses } from './loopback-addresses.ts'

/** What a scenario breaks next; each number counts down. */
export type SandboxFaults = {
  failPrepares: number
  failRestores: number
  failCheckpointsAlive: number
  failCheckpointsDead: number
}

export type SimulatedRuntime = SandboxRuntime & {
  readonly faults: SandboxFaults
  /** Restores that begin from now on end only when the returned function was called. */
  holdRestores(): () => void
  /** Ends the sandbox as an out-of-memory kill would. */
  kill(sandboxId: string, reason: 'memory' | 'killed'): Promise<void>
}

/** Read from the actor's environment: the process ends at once with this code. */
export const EXIT_AT_ONCE = 'TORPOR_SIMULATED_EXIT'
/** Read from the actor's environment: the process accepts connections and never answers. */
export const SILENT = 'TORPOR_SIMULATED_SILENT'

const LINES_MAX = 1_000
const DEFAULT_PORT = 8080

type Box = {
  readonly spec: SandboxSpec
  readonly ipAddress: string
  readonly lines: string[]
  readonly watchers: ((exit: SandboxExit) => void)[]
  process?: CounterProcess
  started: boolean
  exit?: SandboxExit
}

/**
 * A sandbox runtime without sandboxes: each actor is the demo counter in this process, behind a listener of its own.
 * `folder` remembers which sandboxes there were; opened anew over it, the runtime lists them as not alive.
 * @example const runtime = await openSimulatedRuntime({ folder, random: systemRandom })
 */
export async function openSimulatedRuntime(options: {
  readonly folder: string
  readonly random: Random
}): Promise<SimulatedRuntime> {
  await mkdir(options.folder, { recursive: true })
  const left = await readRecords(options.folder)
  const boxes = new Map<string, Box>()
  const addresses = loopbackAddresses(1 + ((options.random.bytes(1)[0] ?? 0) % 254))
  const faults: SandboxFaults = {
    failPrepares: 0,
    failRestores: 0,
    failCheckpointsAlive: 0,
    failCheckpointsDead: 0,
  }
  let restoresHeld = Promise.resolve()
  const record = (box: Box): Promise<void> => writeRecord(options.folder, box)

  const boxOf = (sandboxId: string): Box => {
    const box = boxes.get(sandboxId)
    if (box === undefined) throw fault('INTERNAL', sandboxId, { detail: 'no such sandbox' })
    return box
  }
  const end = async (box: Box, exit: SandboxExit): Promise<void> => {
    if (box.exit !== undefined || !box.started) return
    box.exit = exit
    await box.process?.stop()
    for (const tell of box.watchers.splice(0)) tell(exit)
  }
  const run = async (box: Box, state = newCounter()): Promise<void> => {
    box.started = true
    await record(box)
    const port = Number(box.spec.env['PORT'] ?? DEFAULT_PORT)
    const place = { ipAddress: box.ipAddress, port, silent: box.spec.env[SILENT] !== undefined }
    const onExit = (exitCode: number): void => void end(box, exited(exitCode))
    box.process = await startCounter(state, place, { onExit, log: (line) => keepLine(box, line) })
    const exitCode = box.spec.env[EXIT_AT_ONCE]
    if (exitCode !== undefined) await end(box, exited(Number(exitCode)))
  }
  const pullImage = async (image: string): Promise<void> => {
    const folder = /^oci:(.+):[^:/]+$/.exec(image)?.[1]
    if (folder !== undefined && !(await isThere(folder))) throw fault('IMAGE_UNKNOWN', image)
  }

  return {
    version: SIMULATED_VERSION,
    faults,
    pullImage,
    holdRestores() {
      const { promise, resolve } = Promise.withResolvers<void>()
      restoresHeld = promise
      return resolve
    },
    kill: (sandboxId, reason) =>
      end(boxOf(sandboxId), { reason, message: reason === 'memory' ? 'memory limit reached' : 'killed' }),
    async prepare(spec, restoreFrom) {
      const known = boxes.get(spec.sandboxId)
      if (known !== undefined) return placeOf(known)
      if (faults.failPrepares > 0) {
        faults.failPrepares -= 1
        throw fault('INTERNAL', spec.sandboxId, { detail: 'simulated failure of a prepare' })
      }
      if (restoreFrom === undefined) await pullImage(spec.image)
      const box = { spec, ipAddress: addresses.take(), lines: [], watchers: [], started: false }
      boxes.set(spec.sandboxId, box)
      left.delete(spec.sandboxId)
      await record(box)
      return placeOf(box)
    },
    start: (sandboxId) => run(boxOf(sandboxId)),
    async restore(sandboxId, folder) {
      if (faults.failRestores > 0) {
        faults.failRestores -= 1
        throw fault('RESTORE_FAILED', sandboxId, { detail: 'simulated failure of a restore' })
      }
      const beganMs = performance.now()
      const state = await readGeneration(folder).catch((cause: unknown) => {
        throw fault('RESTORE_FAILED', sandboxId, { cause })
      })
      await restoresHeld
      await run(boxOf(sandboxId), state)
      return { phasesMs: { load: performance.now() - beganMs } }
    },
    async checkpoint(sandboxId, folder): Promise<CheckpointResult> {
      const box = boxOf(sandboxId)
      if (box.process === undefined || box.exit !== undefined)
        return { kind: 'failedDead', message: 'the sandbox does not run' }
      if (faults.failCheckpointsAlive > 0) {
        faults.failCheckpointsAlive -= 1
        return { kind: 'failedAlive', message: 'simulated failure of a checkpoint' }
      }
      const dies = faults.failCheckpointsDead > 0
      if (dies) faults.failCheckpointsDead -= 1
      return dies ? dieAtCheckpoint(box) : saveAndStop(box, folder)
    },
    exit(sandboxId, signal) {
      const box = boxes.get(sandboxId)
      if (box === undefined || box.exit !== undefined)
        return Promise.resolve(box?.exit ?? { reason: 'killed', message: 'no such sandbox' })
      return new Promise((resolve, reject) => {
        box.watchers.push(resolve)
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
      })
    },
    pause: async (sandboxId) => boxOf(sandboxId).process?.setPaused(true),
    unpause: async (sandboxId) => boxOf(sandboxId).process?.setPaused(false),
    exec: async (_sandboxId, command) => ({ exitCode: 0, output: `${command.join(' ')}\n` }),
    stats: async () => ({ cpuSeconds: 0, memoryBytes: 0 }),
    logs: async (sandboxId, linesMax) => boxes.get(sandboxId)?.lines.slice(-linesMax) ?? [],
    async terminate(sandboxId) {
      const box = boxes.get(sandboxId)
      boxes.delete(sandboxId)
      left.delete(sandboxId)
      if (box !== undefined) {
        box.watchers.length = 0
        await box.process?.stop()
        addresses.giveBack(box.ipAddress)
      }
      await rm(join(options.folder, `${sandboxId}.json`), { force: true })
    },
    list: async () => [...[...boxes.values()].map(entryOf), ...left.values()],
    close: async () => undefined,
  }
}

const SIMULATED_VERSION: SandboxRuntimeVersion = {
  sandboxClass: 'gvisor',
  version: { attributes: [{ key: 'simulated', value: '1' }] },
}

async function saveAndStop(box: Box, folder: string): Promise<CheckpointResult> {
  const beganMs = performance.now()
  const process = box.process
  if (process === undefined) return { kind: 'failedDead', message: 'the sandbox does not run' }
  try {
    const files = await writeGeneration(folder, process.state)
    box.exit = { reason: 'killed', message: 'ended by its checkpoint' }
    await process.stop()
    return { kind: 'saved', files, phasesMs: { save: performance.now() - beganMs } }
  } catch (error) {
    return { kind: 'failedAlive', message: String(error) }
  }
}

async function dieAtCheckpoint(box: Box): Promise<CheckpointResult> {
  box.exit = { reason: 'killed', message: 'died in a checkpoint' }
  await box.process?.stop()
  return { kind: 'failedDead', message: 'simulated death in a checkpoint' }
}

type Listed = Awaited<ReturnType<SandboxRuntime['list']>>[number]

const placeOf = (box: Box) => ({ sandboxId: box.spec.sandboxId, ipAddress: box.ipAddress })
const entryOf = (box: Box): Listed => ({
  ...placeOf(box),
  alive: box.exit === undefined,
  started: box.started,
})

const exited = (exitCode: number): SandboxExit => ({
  reason: 'exited',
  exitCode,
  message: `process ended with code ${exitCode}`,
})

function keepLine(box: Box, line: string): void {
  box.lines.push(line)
  if (box.lines.length > LINES_MAX) box.lines.shift()
}

const writeRecord = (folder: string, box: Box): Promise<void> =>
  writeFile(join(folder, `${box.spec.sandboxId}.json`), JSON.stringify(entryOf(box)))

async function readRecords(folder: string): Promise<Map<string, Listed>> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json'))
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
  const entries = texts.map((text) => ({ ...(JSON.parse(text) as Listed), alive: false }))
  return new Map(entries.map((entry) => [entry.sandboxId, entry]))
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )
