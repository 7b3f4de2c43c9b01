import type { ErrorEntry } from '@torpor/contracts'
import {
  ALL,
  BUCKETS,
  COMMANDS,
  ERRORS,
  EVENT_SCHEMAS,
  LIMITS,
  NODE_COMMANDS,
  REPORTS,
  SETTINGS,
  STREAMS,
  cloudEventType,
} from '@torpor/contracts'
import type { EventName } from '@torpor/contracts'
import { actorMachine, mermaidOf, nodeMachine, storageMachine, tablesOf } from '@torpor/state-machines'
import { z } from 'zod'

const NOTICE = '<!-- Made by `npm run docs`. Edit the source it is made from, not this page. -->'

/** Every generated page by its path from the root: what `npm run docs` writes, and what the check compares. */
export const generatedPages = (): Readonly<Record<string, string>> => ({
  'docs/reference/errors.md': errorsPage(),
  'docs/reference/limits.md': limitsPage(),
  'docs/reference/settings.md': settingsPage(),
  'docs/reference/messages.md': messagesPage(),
  'docs/reference/lifecycle.md': lifecyclePage(),
})

const page = (title: string, intro: string, ...blocks: readonly string[]): string =>
  `${[NOTICE, `# ${title}`, intro, ...blocks].join('\n\n')}\n`

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')

function errorsPage(): string {
  const rows = Object.entries<ErrorEntry>(ERRORS).map(([code, entry]) => [
    `\`${code}\``,
    String(entry.status),
    String(entry.exitCode),
    entry.retry,
    entry.problem,
    entry.remedy,
  ])
  return page(
    'Errors',
    'One registry for HTTP bodies, exit codes of `torpor` and replies on the bus (`contracts/errors.ts`).',
    table(['Code', 'HTTP', 'Exit', 'Try again', 'What', 'What to do'], rows),
  )
}

const limitsPage = (): string =>
  page(
    'Limits',
    'Every queue, wait and retry has its bound here (`contracts/limits.ts`); the unit is the last word of the name.',
    table(
      ['Name', 'Value'],
      Object.entries(LIMITS).map(([name, value]) => [`\`${name}\``, value.toLocaleString('en')]),
    ),
  )

const settingsPage = (): string =>
  page(
    'Settings',
    'Environment variables of the parts, parsed once at their start (`contracts/config.ts`).',
    table(
      ['Variable', 'Default', 'Meaning'],
      Object.entries(SETTINGS).map(([name, { schema, meaning }]) => [
        `\`${name}\``,
        `\`${String(schema.parse(undefined)) || ' '}\``,
        meaning,
      ]),
    ),
  )

function messagesPage(): string {
  const fields = (schema: z.ZodType): string =>
    schema instanceof z.ZodObject
      ? Object.keys(schema.shape)
          .map((name) => `\`${name}\``)
          .join(', ')
      : ''
  const events = (Object.keys(EVENT_SCHEMAS) as EventName[]).map((name) => [
    `\`${name}\``,
    `\`${cloudEventType(name)}\``,
    fields(EVENT_SCHEMAS[name]),
  ])
  const commands = Object.entries(COMMANDS).map(([verb, { kind, schema }]) => [
    `\`${verb}\``,
    kind,
    fields(schema),
  ])
  const named = (schemas: Readonly<Record<string, z.ZodType>>) =>
    Object.entries(schemas).map(([name, schema]) => [`\`${name}\``, fields(schema)])
  return page(
    'Messages',
    'Commands, events, node commands and reports, from their schemas (`contracts/messages`).',
    `## Commands\n\nDurable door \`${ALL.commands}\` (stream \`${STREAMS.commands}\`; the outcome is in the events), fast door \`${ALL.rpc}\` (the reply is the outcome). The subject ends in \`<atespace>.<name>.<verb>\`; \`_\` stands for the atespace of what belongs to the whole system. The body is a CloudEvent whose type is the verb, or its data alone.`,
    table(['Verb', 'Of', 'Data'], commands),
    `## Events\n\n\`${ALL.events}\`, stream \`${STREAMS.events}\`: derived from the frames of the log (\`${STREAMS.log(0)}\` and on); leases lie in bucket \`${BUCKETS.shards}\`.`,
    table(['Event', 'CloudEvents type', 'Data'], events),
    `## Node commands\n\n\`${ALL.nodeCommands}\`, captured in \`${STREAMS.nodeCommands}\`.`,
    table(['Verb', 'Data'], named(NODE_COMMANDS)),
    `## Reports\n\n\`${ALL.reports}\`, captured in \`${STREAMS.reports}\`.`,
    table(['Report', 'Data'], named(REPORTS)),
  )
}

const lifecyclePage = (): string =>
  page(
    'The seven states',
    'From `state-machines/actor-lifecycle/machine.ts`; below it the small machines of a snapshot and of a node.',
    `\`\`\`mermaid\n${mermaidOf(actorMachine)}\`\`\``,
    tablesOf(actorMachine),
    "## A snapshot's storage",
    tablesOf(storageMachine),
    '## A node',
    tablesOf(nodeMachine),
  )
