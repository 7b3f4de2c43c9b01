import { fault } from '@torpor/contracts'
import { Command } from 'commander'
import { examples } from '../output/examples.ts'
import type { Context } from '../context.ts'
import { documentText } from '../output/document.ts'
import type { Finding } from './doctor-checks.ts'
import { examine } from './doctor-checks.ts'

/** `torpor doctor`. */
export function doctorCommand(context: Context): Command {
  return new Command('doctor')
    .description('check that every part answers; exit code 7 when something is wrong')
    .addHelpText('after', examples(['torpor doctor', 'torpor doctor --server nats://127.0.0.1:4222']))
    .action(async (_options: object, command: Command) => {
      const { world } = context
      const { output } = context.options(command)
      const findings: Finding[] = []
      for await (const finding of examine(context, command)) {
        findings.push(finding)
        if (output === 'table') world.write(findingText(finding))
      }
      if (output !== 'table') world.write(documentText(output, { checks: findings }))
      const wrong = findings.filter(({ ok }) => !ok)
      if (wrong.length === 0) return
      const detail = `${wrong.length} of ${findings.length} checks failed: ${wrong.map(({ check }) => check).join(', ')}`
      throw fault('SETUP_INCOMPLETE', 'doctor', { detail })
    })
}

const findingText = ({ ok, check, detail, remedy }: Finding): string =>
  `${ok ? '✓' : '✗'} ${check}: ${detail}\n${ok || remedy === '' ? '' : `    ${remedy}\n`}`
