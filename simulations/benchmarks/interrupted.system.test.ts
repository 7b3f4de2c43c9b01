import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { machineState } from '../../infra/local/story/leftovers.ts'
import { BENCH_FOLDER } from './bench-stack.ts'

const CAN_GVISOR = process.platform === 'linux' && process.getuid?.() === 0

/** How the head of its table begins: the stack is there then. */
const TABLE = 'memory held'

test.runIf(CAN_GVISOR)('Ctrl-C ends a bench, and all that it made', { timeout: 120_000 }, async () => {
  const words = [join(import.meta.dirname, 'main.ts'), 'suspend', '--short']
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith(TABLE)) continue
    expect(machineState(BENCH_FOLDER)).not.toEqual([])
    child.kill('SIGINT')
  }
  expect(await ended).toEqual([130, null])
  expect(machineState(BENCH_FOLDER)).toEqual([])
})
