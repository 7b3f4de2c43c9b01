import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { enterProcessRoot } from '../../infra/local/supervisor/process-root.ts'
import { REPOSITORY } from '../../infra/local/supervisor/tool-paths.ts'
import type { Benchmark, BenchmarkResult } from './benchmark.ts'
import { holds } from './benchmark.ts'
import { hostSketchBenchmark } from './host-sketch.ts'
import { describeMachine } from './machine.ts'
import { resumeBenchmark } from './resume.ts'
import { suspendBenchmark } from './suspend.ts'

const BENCHMARKS: readonly Benchmark[] = [resumeBenchmark, suspendBenchmark, hostSketchBenchmark]

const USAGE = `usage: npm run bench -- NAME [--short]
       npm run bench -- --list
`

enterProcessRoot()
process.exitCode = await main(process.argv.slice(2))

async function main(words: readonly string[]): Promise<number> {
  const flag = { type: 'boolean', default: false } as const
  const { values, positionals } = parseArgs({
    args: [...words],
    options: { list: flag, short: flag },
    allowPositionals: true,
  })
  if (values.list) {
    for (const { name, about } of BENCHMARKS) process.stdout.write(`${name.padEnd(12)} ${about}\n`)
    return 0
  }
  const benchmark = BENCHMARKS.find(({ name }) => name === positionals[0])
  if (benchmark === undefined) {
    process.stderr.write(`error: ${positionals[0] ?? 'no name'}: is no bench; --list tells them\n\n${USAGE}`)
    return 2
  }
  const machine = describeMachine()
  process.stdout.write(
    `${benchmark.name}: ${benchmark.about}\non ${machine}${values.short ? ' (short)' : ''}\n`,
  )
  const print = (line: string) => void process.stdout.write(`${line}\n`)
  const result = await benchmark.run({ short: values.short, print })
  print(JSON.stringify(await report(benchmark.name, machine, result)))
  return 0
}

async function report(bench: string, machine: string, result: BenchmarkResult): Promise<unknown> {
  const folder = join(REPOSITORY, '.torpor', 'bench')
  await mkdir(folder, { recursive: true })
  const samplesFile = join(folder, `${bench}-${Date.now()}.json`)
  await writeFile(samplesFile, JSON.stringify({ bench, machine, ...result }, null, 1))
  const { versions, syncInterval, figures } = result
  const bars = result.bars.map((bar) => ({ ...bar, holds: holds(bar) }))
  return { bench, machine, versions, syncInterval, figures, bars, samplesFile }
}
