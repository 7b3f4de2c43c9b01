import { lockDataFolder, type DataLock } from './data-lock.ts'
import type { PartDefinition, PartEvent, PartState } from './part.ts'
import { signalProcess } from './end-process.ts'
import { endOrphans } from './run-records.ts'
import { SupervisedPart } from './supervised-part.ts'
import path from 'node:path'

export type SupervisorOptions = {
  /** Where logs, run records and the lock go. */
  readonly dataFolder: string
  readonly onEvent?: (event: PartEvent) => void
  /** Runs once every part has ended, while the folder is still ours. */
  readonly beforeRelease?: () => Promise<void>
}

export type PartStatus = {
  readonly name: string
  readonly state: PartState
  readonly address: string | undefined
  readonly pid: number | undefined
  readonly starts: number
  readonly log: string
}

/**
 * Keeps the processes of one data folder: one supervisor at a time, nothing of an earlier one left.
 * @example
 * const supervisor = await openSupervisor({ dataFolder, onEvent: console.log })
 * const address = await supervisor.startPart({ name: 'router', command: 'node', args: ['main.ts'], readyWhen: { kind: 'ready-line' } })
 * await supervisor.stop()
 */
export class Supervisor {
  readonly dataFolder: string
  /** Parts that a killed supervisor had left behind and that were ended first. */
  readonly endedOrphans: readonly string[]
  readonly #lock: DataLock
  readonly #parts = new Map<string, SupervisedPart>()
  readonly #emit: (event: PartEvent) => void
  readonly #beforeRelease: () => Promise<void>
  #stopped: Promise<void> | undefined

  constructor(options: SupervisorOptions, lock: DataLock, endedOrphans: readonly string[]) {
    this.dataFolder = options.dataFolder
    this.endedOrphans = endedOrphans
    this.#lock = lock
    this.#emit = options.onEvent ?? (() => undefined)
    this.#beforeRelease = options.beforeRelease ?? (async () => undefined)
  }

  /**
   * Starts a part and waits until it is ready.
   * @returns its address
   * @throws PartNotReady where it ended or did not become ready within its limit
   */
  async startPart(definition: PartDefinition): Promise<string> {
    if (this.#stopped) throw new Error(`the supervisor of ${this.dataFolder} is stopped`)
    if (this.#parts.has(definition.name)) throw new Error(`part ${definition.name} is there already`)
    const part = new SupervisedPart(definition, this.dataFolder, this.#emit)
    this.#parts.set(definition.name, part)
    return part.start()
  }

  /** Stops one part; it may be started again under the same name. */
  async stopPart(name: string): Promise<void> {
    await this.#part(name).stop()
    this.#parts.delete(name)
  }

  /** Sends SIGKILL to exactly the process of this part: what a test or a demo does to see it healed. */
  killPart(name: string, signal: NodeJS.Signals = 'SIGKILL'): void {
    const { identity } = this.#part(name)
    if (identity) signalProcess(identity, signal)
  }

  status(): readonly PartStatus[] {
    return [...this.#parts.values()].map((part) => ({
      name: part.definition.name,
      state: part.state,
      address: part.address,
      pid: part.identity?.pid,
      starts: part.starts,
      log: part.logFile,
    }))
  }

  /** Stops every part, the last started first, and gives the data folder back. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stopAll()
    return this.#stopped
  }

  async #stopAll(): Promise<void> {
    for (const part of [...this.#parts.values()].toReversed()) await part.stop()
    this.#parts.clear()
    await this.#beforeRelease()
    this.#lock.release()
  }

  #part(name: string): SupervisedPart {
    const part = this.#parts.get(name)
    if (!part) throw new Error(`no part ${name}`)
    return part
  }
}

/**
 * Takes the data folder and ends what a killed supervisor left in it.
 * @throws DataFolderBusy where another supervisor holds it
 */
export async function openSupervisor(options: SupervisorOptions): Promise<Supervisor> {
  const lock = lockDataFolder(options.dataFolder)
  return new Supervisor(options, lock, await endOrphans(path.join(options.dataFolder, 'run')))
}
