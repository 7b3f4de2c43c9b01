import path from 'node:path'
import { backoffMs } from './backoff.ts'
import { SUPERVISOR_LIMITS } from './limits.ts'
import { PartNotReady, type PartDefinition, type PartEvent, type PartState } from './part.ts'
import { PartLog } from './part-log.ts'
import { startProcess, stopProcess, type PartProcess } from './part-process.ts'
import type { ProcessIdentity } from './process-identity.ts'
import { removeRunRecord, writeRunRecord } from './run-records.ts'

/** One part through all its lives: started, healed after an end that nobody asked for, stopped. */
export class SupervisedPart {
  readonly definition: PartDefinition
  readonly #runFolder: string
  readonly #log: PartLog
  readonly #emit: (event: PartEvent) => void
  #running: PartProcess | undefined
  #state: PartState = 'starting'
  #address: string | undefined
  #starts = 0
  #failures = 0
  #backoff: { readonly timer: NodeJS.Timeout; readonly wake: () => void } | undefined
  /** Of this life; undefined until it is ready. */
  #readyAt: number | undefined

  constructor(definition: PartDefinition, dataFolder: string, emit: (event: PartEvent) => void) {
    this.definition = definition
    this.#runFolder = path.join(dataFolder, 'run')
    this.#log = new PartLog(path.join(dataFolder, 'logs'), definition.name)
    this.#emit = emit
  }

  get state(): PartState {
    return this.#state
  }

  get address(): string | undefined {
    return this.#address
  }

  get identity(): ProcessIdentity | undefined {
    return this.#running?.hasEnded() === false ? this.#running.identity : undefined
  }

  /** Times it was started, 1 after the first. */
  get starts(): number {
    return this.#starts
  }

  get logFile(): string {
    return this.#log.file
  }

  /**
   * The first start: fails where the part does not come up, so that a wrong configuration is told at once. One that somebody
   * killed meanwhile says nothing about its configuration and is started again.
   */
  async start(): Promise<string> {
    try {
      for (;;) {
        const running = await this.#launch()
        const address = await this.#becomeReady(running).catch((cause: unknown) => cause as Error)
        if (typeof address === 'string') {
          void this.#keep(running)
          return address
        }
        if (!running.wasKilled() || this.#isOver()) throw address
        this.#emit({ kind: 'exited', part: this.definition.name, reason: address.message })
        if (!(await this.#pauseBeforeRestart())) throw address
        this.#state = 'starting'
      }
    } catch (error) {
      await this.#endNow()
      if (!this.#isOver()) this.#state = 'failed'
      removeRunRecord(this.#runFolder, this.definition.name)
      this.#log.close()
      throw new PartNotReady(this.definition.name, (error as Error).message, this.#log.file)
    }
  }

  async stop(): Promise<void> {
    if (this.#state === 'stopped' || this.#state === 'failed') return
    this.#state = 'stopping'
    this.#wakeFromBackoff()
    const killed = await this.#endNow()
    this.#state = 'stopped'
    removeRunRecord(this.#runFolder, this.definition.name)
    this.#log.close()
    this.#emit({ kind: 'stopped', part: this.definition.name, killed })
  }

  async #launch(): Promise<PartProcess> {
    this.#starts += 1
    this.#readyAt = undefined
    const running = await startProcess(this.definition, this.#log)
    this.#running = running
    const { name } = this.definition
    writeRunRecord(this.#runFolder, name, running.identity)
    this.#emit({ kind: 'started', part: name, process: running.identity, start: this.#starts })
    return running
  }

  async #becomeReady(running: PartProcess): Promise<string> {
    const beganAt = performance.now()
    const address = await running.ready
    this.#address = address
    const readyAt = performance.now()
    this.#readyAt = readyAt
    if (this.#state !== 'stopping') this.#state = 'ready'
    const afterMs = Math.round(readyAt - beganAt)
    this.#emit({ kind: 'ready', part: this.definition.name, address, afterMs })
    return address
  }

  /** Watches one life to its end and begins the next, until the part is stopped or given up. */
  async #keep(first: PartProcess): Promise<void> {
    let running: PartProcess | undefined = first
    while (!this.#isOver()) {
      if (running) {
        const reason = await running.ended
        if (this.#isOver()) return
        this.#emit({ kind: 'exited', part: this.definition.name, reason })
      }
      if (!(await this.#pauseBeforeRestart())) return
      running = await this.#tryAgain()
    }
  }

  /** @returns false where there is no next start */
  async #pauseBeforeRestart(): Promise<boolean> {
    const { name, restart } = this.definition
    const servedMs = this.#readyAt === undefined ? 0 : performance.now() - this.#readyAt
    if (servedMs > SUPERVISOR_LIMITS.restartForgivenMs) this.#failures = 0
    this.#failures += 1
    if (restart === false || this.#failures > SUPERVISOR_LIMITS.restartsInARowMax) {
      this.#state = 'failed'
      removeRunRecord(this.#runFolder, name)
      this.#log.close()
      this.#emit({ kind: 'gave-up', part: name, attempts: this.#failures - 1 })
      return false
    }
    this.#state = 'waiting'
    const inMs = backoffMs(this.#failures)
    this.#emit({ kind: 'restarting', part: name, inMs, attempt: this.#failures })
    await new Promise<void>((wake) => (this.#backoff = { timer: setTimeout(wake, inMs), wake }))
    this.#backoff = undefined
    return !this.#isOver()
  }

  async #tryAgain(): Promise<PartProcess | undefined> {
    this.#state = 'starting'
    try {
      const running = await this.#launch()
      await this.#becomeReady(running)
      return running
    } catch (error) {
      this.#emit({ kind: 'not-ready', part: this.definition.name, reason: (error as Error).message })
      await this.#endNow()
      return undefined
    }
  }

  /** @returns whether it had to be killed */
  async #endNow(): Promise<boolean> {
    if (!this.#running || this.#running.hasEnded()) return false
    return stopProcess(this.#running, this.definition)
  }

  #wakeFromBackoff(): void {
    if (!this.#backoff) return
    clearTimeout(this.#backoff.timer)
    this.#backoff.wake()
  }

  #isOver(): boolean {
    return this.#state === 'stopping' || this.#state === 'stopped' || this.#state === 'failed'
  }
}
