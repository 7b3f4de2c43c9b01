import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { signalProcess } from './end-process.ts'
import { SUPERVISOR_LIMITS } from './limits.ts'
import type { PartDefinition } from './part.ts'
import type { PartLog } from './part-log.ts'
import { identifyProcess, type ProcessIdentity } from './process-identity.ts'
import { addressInLine, probeFromOutside } from './readiness.ts'

/** One life of a part: from its start to its end. */
export type PartProcess = {
  readonly identity: ProcessIdentity
  /** The address where it serves; rejects where it ended or the limit came first. */
  readonly ready: Promise<string>
  /** How it ended, in words. Never rejects. */
  readonly ended: Promise<string>
  readonly hasEnded: () => boolean
  /** It has ended by SIGKILL. */
  readonly wasKilled: () => boolean
}

/**
 * Starts the process in a group of its own, so that a Ctrl-C in the terminal reaches the supervisor alone and the
 * order of stopping is the supervisor's.
 */
export async function startProcess(part: PartDefinition, log: PartLog): Promise<PartProcess> {
  const child = spawn(part.command, part.args, {
    cwd: part.cwd,
    env: { ...process.env, ...part.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const state = { over: false }
  const ended = describeEnd(child).then((reason) => {
    state.over = true
    log.append(`-- ${part.name}: ${reason}\n`)
    return reason
  })
  const ready = awaitReady(part, child, log, ended, () => state.over)
  ready.catch(() => undefined)
  if (child.pid === undefined) throw new Error(await ended)
  const identity = identifyProcess(child.pid) ?? { pid: child.pid, startedAt: '' }
  void ended.then(() => part.endsGroup && endGroup(identity.pid))
  const wasKilled = (): boolean => child.signalCode === 'SIGKILL' && state.over
  return { identity, ready, ended, hasEnded: () => state.over, wasKilled }
}

async function awaitReady(
  part: PartDefinition,
  child: ChildProcess,
  log: PartLog,
  ended: Promise<string>,
  isOver: () => boolean,
): Promise<string> {
  const limitMs = part.readyMsMax ?? SUPERVISOR_LIMITS.partReadyMsMax
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  readLines(child, log, (line) => {
    const address = addressInLine(line, part.readyWhen)
    if (address !== undefined) resolve(address)
  })
  const timer = setTimeout(() => reject(new Error(`not ready in ${limitMs} ms`)), limitMs)
  void ended.then((reason) => reject(new Error(reason)))
  void probeFromOutside(part.readyWhen, limitMs, isOver).then(
    (address) => address !== undefined && resolve(address),
  )
  return promise.finally(() => clearTimeout(timer))
}

function readLines(child: ChildProcess, log: PartLog, onLine: (line: string) => void): void {
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue
    const lines = createInterface({ input: stream, crlfDelay: Infinity })
    lines.on('line', (line) => {
      log.append(`${line.slice(0, SUPERVISOR_LIMITS.logLineBytesMax)}\n`)
      onLine(line)
    })
  }
}

async function describeEnd(child: ChildProcess): Promise<string> {
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
    return signal === null ? `ended with code ${code}` : `ended by ${signal}`
  } catch (error) {
    return `could not be started: ${(error as Error).message}`
  }
}

/** The leader is gone, so its number still names the group as long as one member lives. */
function endGroup(groupId: number): void {
  try {
    process.kill(-groupId, 'SIGKILL')
  } catch {
    return
  }
}

/**
 * Asks the process to end, and kills it where it does not in time.
 * @returns whether it had to be killed
 */
export async function stopProcess(running: PartProcess, part: PartDefinition): Promise<boolean> {
  signalProcess(running.identity, part.stopSignal ?? 'SIGTERM')
  const stopMsMax = part.stopMsMax ?? SUPERVISOR_LIMITS.partStopMsMax
  const { promise: late, resolve } = Promise.withResolvers<'late'>()
  const timer = setTimeout(() => resolve('late'), stopMsMax)
  const outcome = await Promise.race([running.ended, late])
  clearTimeout(timer)
  if (outcome !== 'late') return false
  signalProcess(running.identity, 'SIGKILL', part.endsGroup === true)
  await running.ended
  return true
}
