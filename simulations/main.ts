import { parseArgs } from 'node:util'
import { BUGS } from './planted-bugs/bugs.ts'
import { plant } from './planted-bugs/plant.ts'

const SEEDS_DEFAULT = 200

const USAGE = `npm run simulate -- [--seed N] [--seeds COUNT] [--bug NAME]

Runs the engine of the log in simulated worlds, one for each seed, and holds each against its laws.
  --seed N       the first seed (default 1); alone: only this one, and what happened in it
  --seeds COUNT  so many seeds (default ${SEEDS_DEFAULT})
  --bug NAME     with a mistake planted, to see that the laws find it:
${BUGS.map(({ name, about }) => `                   ${name.padEnd(22)}${about}`).join('\n')}
`

process.exitCode = await main(process.argv.slice(2))

/** The exit code: 0 where every law holds, 1 where one is broken, 2 for words that mean nothing. */
async function main(words: readonly string[]): Promise<number> {
  const read = readWords(words)
  if ('error' in read) return complain(read.error)
  if (read.help) {
    process.stdout.write(USAGE)
    return 0
  }
  const { seed, seeds, bug } = read
  if (bug !== undefined) plant(bug)
  const { runEngine } = await import('./scenarios/engine.ts')
  let asked = 0
  for (let next = seed; next < seed + seeds; next += 1) {
    const run = await runEngine(next)
    asked += run.asked
    if (seeds === 1) for (const line of run.lines) print(line)
    if (run.violations.length === 0) continue
    for (const { law, what } of run.violations) print(`seed ${next}: broken: ${law}: ${what}`)
    print(`again: npm run simulate -- --seed ${next}${bug === undefined ? '' : ` --bug ${bug.name}`}`)
    return 1
  }
  print(`${seeds} ${seeds === 1 ? 'seed' : 'seeds'} from ${seed}, ${asked} questions: every law holds`)
  return 0
}

function readWords(words: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...words],
      options: {
        seed: { type: 'string' },
        seeds: { type: 'string' },
        bug: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    const seed = wholeNumber('--seed', values.seed ?? '1')
    const seeds = wholeNumber(
      '--seeds',
      values.seeds ?? (values.seed === undefined ? `${SEEDS_DEFAULT}` : '1'),
    )
    const bug = BUGS.find(({ name }) => name === values.bug)
    if (values.bug !== undefined && bug === undefined) {
      return { error: `${values.bug} is no bug: use one of ${BUGS.map(({ name }) => name).join(', ')}` }
    }
    return { seed, seeds, bug, help: values.help }
  } catch (cause) {
    return { error: (cause as Error).message.split('. ')[0] ?? '' }
  }
}

function wholeNumber(option: string, text: string): number {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value > 0) return value
  throw new Error(`${option} ${text} is no whole number above 0`)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

function complain(text: string): number {
  process.stderr.write(`error: ${text}\n`)
  return 2
}
