import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { BareOptions } from './launcher.ts'

/** The launcher of the sandbox alone, driven word by word; each verb answers with its milliseconds. */
export type BareSandbox = {
  start(): Promise<number>
  call(): Promise<number>
  checkpoint(): Promise<number>
  wake(): Promise<number>
  end(): Promise<void>
}

/**
 * Starts the launcher as a process of its own.
 * @example const bare = startBareSandbox(options); await bare.start(); await bare.checkpoint(); const ms = await bare.wake()
 */
export function startBareSandbox(options: BareOptions): BareSandbox {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'launcher.ts'), JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ended = once(child, 'exit')
  const say = async (word: string): Promise<number> => {
    child.stdin.write(`${word}\n`)
    const line = await lines.next()
    if (line.done === true) throw new Error(`the bare launcher ended at "${word}"`)
    return (JSON.parse(line.value) as { readonly ms: number }).ms
  }
  return {
    start: () => say('start'),
    call: () => say('call'),
    checkpoint: () => say('checkpoint'),
    wake: () => say('wake'),
    async end() {
      child.stdin.end('end\n')
      await ended
    },
  }
}
