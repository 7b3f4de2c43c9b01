import type { ResourceDocument } from '@torpor/contracts'
import { fault } from '@torpor/contracts'
import { Command } from 'commander'
import { examples } from '../output/examples.ts'
import type { Context } from '../context.ts'
import { took } from '../domain/durations.ts'
import { parseDocuments } from '../domain/parse-documents.ts'
import { documentText } from '../output/document.ts'
import type { World } from '../world.ts'

/** `torpor apply -f FILE`. */
export function applyCommand(context: Context): Command {
  return new Command('apply')
    .description('create or update what a file describes: Atespace, WorkerPool, ActorTemplate')
    .requiredOption(
      '-f, --filename <file>',
      'YAML or JSON, one or several documents; "-" reads standard input',
    )
    .option('-a, --atespace <atespace>', 'atespace of documents that name none')
    .addHelpText('after', examples(['torpor apply -f counter.yaml', 'cat counter.yaml | torpor apply -f -']))
    .action(async (options: { filename: string; atespace?: string }, command: Command) => {
      const text = await readText(context.world, options.filename)
      const source = options.filename === '-' ? 'standard input' : options.filename
      const documents = parseDocuments(text, source, options.atespace)
      const client = await context.client(command)
      const { clock, signal } = context.world
      const done: object[] = []
      for (const document of documents) {
        const startMs = clock.monotonicMs()
        const outcome = await client.apply(document, { signal })
        const name = nameOf(document)
        done.push({ kind: document.kind, name, outcome })
        if (context.options(command).output !== 'table') continue
        context.world.write(`${document.kind} ${name} ${outcome} in ${took(clock.monotonicMs() - startMs)}\n`)
      }
      const { output } = context.options(command)
      if (output !== 'table') context.world.write(documentText(output, { items: done }))
    })
}

const readText = (world: World, file: string): Promise<string> =>
  (file === '-' ? world.readStandardInput() : world.readFile(file)).catch((cause: unknown) => {
    throw fault('FILE_UNREADABLE', file, { detail: cause instanceof Error ? cause.message : '', cause })
  })

const nameOf = (document: ResourceDocument): string =>
  document.kind === 'ActorTemplate'
    ? `${document.metadata.atespace}/${document.metadata.name}`
    : document.metadata.name
