import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs'
import path from 'node:path'
import { SUPERVISOR_LIMITS } from './limits.ts'

/** The log file of one part: when it is full it becomes `<part>.log.1`, whose predecessor is dropped. */
export class PartLog {
  readonly file: string
  readonly #bytesMax: number
  #descriptor: number
  #bytes: number
  #closed = false

  constructor(folder: string, part: string, bytesMax: number = SUPERVISOR_LIMITS.logBytesMax) {
    mkdirSync(folder, { recursive: true })
    this.file = path.join(folder, `${part}.log`)
    this.#bytesMax = bytesMax
    this.#descriptor = openSync(this.file, 'a')
    this.#bytes = fstatSync(this.#descriptor).size
  }

  /** What comes after the end (a grandchild may still hold the pipe) is dropped. */
  append(text: string | Buffer): void {
    if (this.#closed) return
    if (this.#bytes >= this.#bytesMax) this.#turnOver()
    this.#bytes += writeSync(this.#descriptor, typeof text === 'string' ? Buffer.from(text) : text)
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    closeSync(this.#descriptor)
  }

  #turnOver(): void {
    closeSync(this.#descriptor)
    renameSync(this.file, `${this.file}.1`)
    this.#descriptor = openSync(this.file, 'a')
    this.#bytes = 0
  }
}
