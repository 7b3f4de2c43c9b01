import type { Actor, CloudEvent, EntityRef } from '@torpor/contracts'
import type { TorporClient } from '@torpor/sdk'
import { Command } from 'commander'
import { examples } from '../output/examples.ts'
import type { Context } from '../context.ts'
import { age, sizeOf } from '../domain/durations.ts'
import { eventLine } from '../domain/event-line.ts'
import { adviceFor, allowedIn, meaningOf } from '../domain/explanation.ts'
import { entityOf } from '../domain/target.ts'
import { templateName } from '../output/columns.ts'
import { documentText } from '../output/document.ts'
import { table } from '../output/table.ts'

/** Events shown at the end of an explanation. */
const LAST_EVENTS = 8

/** `torpor explain actor NAME`. */
export function explainCommand(context: Context): Command {
  const actor = new Command('actor')
    .description('what an actor is doing, what is allowed now, and what to do next')
    .argument('<name>', 'NAME or ATESPACE/NAME')
    .option('-a, --atespace <atespace>', 'atespace; default: TORPOR_ATESPACE')
    .addHelpText('after', examples(['torpor explain actor my-counter-1 -a demo']))
    .action(async (name: string, options: { atespace?: string }, command: Command) => {
      const { world } = context
      const ref = entityOf('actor', name, options.atespace, world)
      const client = await context.client(command)
      const found = await client.actor(ref.atespace, ref.name).get({ signal: world.signal })
      const events = await lastEvents(client, ref, world.signal)
      const { output } = context.options(command)
      world.write(
        output === 'table'
          ? explanation(found, events, world.clock.nowMs())
          : documentText(output, {
              actor: found,
              meaning: meaningOf(found),
              allowed: Object.fromEntries(allowedIn(found, world.clock.nowMs())),
              lastEvents: events,
              advice: adviceFor(found),
            }),
      )
    })
  return new Command('explain').description('tell the story of an actor').addCommand(actor)
}

async function lastEvents(
  client: TorporClient,
  ref: EntityRef,
  signal: AbortSignal,
): Promise<readonly CloudEvent[]> {
  const events: CloudEvent[] = []
  const filter = { atespace: ref.atespace, actor: ref.name }
  for await (const event of client.events({ ...filter, from: 'start', untilCaughtUp: true, signal })) {
    events.push(event)
    if (events.length > LAST_EVENTS) events.shift()
  }
  return events
}

/** The whole text. */
function explanation(actor: Actor, events: readonly CloudEvent[], nowMs: number): string {
  const sections: readonly (readonly [string, string])[] = [
    ['', `actor ${actor.atespace}/${actor.name} is ${actor.state}: ${meaningOf(actor)}\n`],
    ['', factsTable(actor, nowMs)],
    ['Snapshots', snapshotsTable(actor, nowMs)],
    ['Allowed now', table([], allowedIn(actor, nowMs))],
    [
      'Last events',
      events.map((event) => `${eventLine(event)}\n`).join('') || 'none in the stream any more\n',
    ],
    [
      'What to do',
      adviceFor(actor)
        .map((line) => `${line}\n`)
        .join(''),
    ],
  ]
  return sections.map(([title, text]) => (title === '' ? text : `\n${title}\n${indent(text)}`)).join('')
}

function factsTable(actor: Actor, nowMs: number): string {
  const { worker, crash } = actor
  const rows: (readonly [string, string])[] = [
    ['phase', actor.phase || '-'],
    ['template', templateName(actor)],
    [
      'version',
      `${actor.version}, changed ${age(actor.updateTimeMs, nowMs)} ago, created ${age(actor.createTimeMs, nowMs)} ago`,
    ],
    [
      'worker',
      worker === undefined
        ? '- (books nothing)'
        : `${worker.worker} on node ${worker.node}, gate ${worker.gateAddress}`,
    ],
    ['newest snapshot on', actor.assignedNode || 'the object store only'],
  ]
  if (crash !== undefined)
    rows.push(['crash', `${crash.code}: ${crash.message} (${age(crash.timeMs, nowMs)} ago)`])
  return table([], rows)
}

const snapshotsTable = (actor: Actor, nowMs: number): string =>
  actor.snapshots.length === 0
    ? 'none\n'
    : table(
        ['GENERATION', 'OWNER', 'FIDELITY', 'STORAGE', 'NODE', 'SIZE', 'AGE'],
        actor.snapshots.map((snapshot) => [
          String(snapshot.generation),
          snapshot.owner,
          snapshot.fidelity,
          snapshot.storageState,
          snapshot.locality || '-',
          sizeOf(snapshot.bytes),
          age(snapshot.createTimeMs, nowMs),
        ]),
      )

const indent = (text: string): string => text.replaceAll(/^(?=.)/gm, '  ')
