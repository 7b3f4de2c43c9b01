import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readSettings } from '@torpor/contracts'
import { listenForInterruption } from '../../infra/local/story/interruption.ts'
import { endWithStarter } from '../../infra/local/supervisor/end-with-starter.ts'
import { enterProcessRoot } from '../../infra/local/supervisor/process-root.ts'
import { REPOSITORY } from '../../infra/local/supervisor/tool-paths.ts'
import type { Benchmark, BenchmarkResult } from './benchmark.ts'
import { hostSketchBenchmark } from './host-sketch.ts'
import { describeMachine } from './machine.ts'
import { readWords } from './read-words.ts'
import { reportLine } from './report.ts'
import { resumeBenchmark } from './resume.ts'
import { suspendBenchmark } from './suspend.ts'

const BENCHMARKS: readonly Benchmark[] = [resumeBenchmark, suspendBenchmark, hostSketchBenchmark]

/** What a shell says of a program that Ctrl-C ended. */
const INTERRUPTED_CODE = 130

enterProcessRoot()
endWithStarter()
process.exitCode = await main(process.argv.slice(2))

/** `npm run bench -- NAME [--short]`, `npm run bench -- --list`; the exit code. */
async function main(words: readonly string[]): Promise<number> {
  const read = readWords(words)
  if ('error' in read) return complain(read.error, 2)
  if (read.list) {
    for (const { name, about } of BENCHMARKS) print(`${name.padEnd(12)} ${about}`)
    return 0
  }
  const benchmark = BENCHMARKS.find(({ name }) => name === read.name)
  if (benchmark !== undefined) return runBench(benchmark, read.short)
  const problem = read.name === '' ? 'no bench is named' : `${read.name} is no bench`
  return complain(`${problem}: use one of ${BENCHMARKS.map(({ name }) => name).join(', ')}`, 2)
}

async function runBench(benchmark: Benchmark, short: boolean): Promise<number> {
  const { name: bench, about } = benchmark
  const machine = describeMachine()
  print(`${bench}: ${about}\non ${machine}${short ? ' (short)' : ''}`)
  const ending = (): void => print('interrupted: taking down what was made')
  const { first: signal } = listenForInterruption(() => performance.now(), ending, ending)
  try {
    const result = await benchmark.run({ short, print, signal })
    const samplesFile = await keepSamples(bench, machine, result)
    print(reportLine({ bench, machine, samplesFile }, result))
    return 0
  } catch (cause) {
    if (signal.aborted) return INTERRUPTED_CODE
    if (readSettings(process.env).TORPOR_LOG_LEVEL === 'debug') console.error(cause)
    return complain(`${bench}: ${cause instanceof Error ? cause.message : String(cause)}`, 1)
  }
}

async function keepSamples(bench: string, machine: string, result: BenchmarkResult): Promise<string> {
  const folder = join(REPOSITORY, '.torpor', 'bench')
  await mkdir(folder, { recursive: true })
  const samplesFile = join(folder, `${bench}-${Date.now()}.json`)
  await writeFile(samplesFile, JSON.stringify({ bench, machine, ...result }, null, 1))
  return samplesFile
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

function complain(text: string, code: number): number {
  process.stderr.write(`error: ${text}\n`)
  return code
}
