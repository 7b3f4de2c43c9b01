import { ERRORS, refusalLine, refusalOf } from '@torpor/contracts'
import { Command, CommanderError, Option } from 'commander'
import type { Context } from './context.ts'
import { createContext } from './context.ts'
import { applyCommand } from './handlers/apply.ts'
import { createCommand } from './handlers/create.ts'
import { deleteCommand } from './handlers/delete.ts'
import { doctorCommand } from './handlers/doctor.ts'
import { drainCommand } from './handlers/drain.ts'
import { explainCommand } from './handlers/explain.ts'
import { getCommand } from './handlers/get.ts'
import { historyCommand } from './handlers/history.ts'
import { logsCommand } from './handlers/logs.ts'
import { resumeCommand } from './handlers/resume.ts'
import { revertCommand } from './handlers/revert.ts'
import { suspendCommand } from './handlers/suspend.ts'
import { versionCommand } from './handlers/version.ts'
import { watchCommand } from './handlers/watch.ts'
import { examples } from './output/examples.ts'
import type { World } from './world.ts'

/** Exit code for a command line that makes no sense. */
const USAGE_EXIT_CODE = 2
/** Exit code when Ctrl-C ended the waiting for an answer: 128 and the number of SIGINT. */
const INTERRUPTED_EXIT_CODE = 130

/**
 * Runs one command line. Resolves with the exit code: 0, or the one of the error in the registry.
 * @example process.exitCode = await runCli(process.argv.slice(2), world)
 */
export async function runCli(args: readonly string[], world: World): Promise<number> {
  const context = createContext(world)
  try {
    await createProgram(context).parseAsync([...args], { from: 'user' })
    return 0
  } catch (thrown) {
    return exitCodeOf(thrown, world)
  } finally {
    await context.close()
  }
}

/** The whole command line as data; the reference page is made from it. */
export function createProgram(context: Context): Command {
  const program = new Command('torpor')
    .description('Create, wake, suspend and watch actors.')
    .addOption(
      new Option(
        '--server <url>',
        'bus to talk to; default: TORPOR_NATS_URL, else the local stack that runs here',
      ),
    )
    .addOption(
      new Option('-o, --output <format>', 'output format')
        .choices(['table', 'json', 'yaml'])
        .default('table'),
    )
    .addHelpText(
      'after',
      examples([
        'torpor apply -f counter.yaml',
        'torpor create actor my-counter-1 -a demo --template counter',
        'torpor get actors -A',
        'torpor explain actor my-counter-1 -a demo',
      ]),
    )
  const verbs = [
    createCommand,
    applyCommand,
    getCommand,
    resumeCommand,
    suspendCommand,
    revertCommand,
    deleteCommand,
    drainCommand,
    logsCommand,
    watchCommand,
    historyCommand,
    explainCommand,
    versionCommand,
    doctorCommand,
  ]
  for (const verb of verbs) program.addCommand(verb(context))
  return quiet(program, context.world)
}

/** Nothing in the program writes or exits by itself. */
function quiet(command: Command, world: World): Command {
  command.exitOverride().configureOutput({
    writeOut: (text) => world.write(text),
    writeErr: (text) => world.writeError(text),
  })
  for (const child of command.commands) quiet(child, world)
  return command
}

function exitCodeOf(thrown: unknown, world: World): number {
  if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : USAGE_EXIT_CODE
  if (world.signal.aborted) return INTERRUPTED_EXIT_CODE
  const refusal = refusalOf(thrown)
  world.writeError(`error: ${refusalLine(refusal)}\n`)
  return ERRORS[refusal.code]?.exitCode ?? 1
}
