import type { Actor, HostCommand, Reply } from '@torpor/contracts'
import { displayName, refuse } from '@torpor/contracts'
import { z } from 'zod'
import type { Context } from '../context.ts'
import { askNode } from '../effects/ask-node.ts'
import { fetchEntity } from '../entities/fetch-entity.ts'

const requestSchema = z.object({ lines: z.int().min(1).max(10_000).default(200) })

/** The last lines of an actor's process, from the node that runs it or ran it last. */
export async function getActorLogs(command: HostCommand, context: Context): Promise<Reply<unknown>> {
  const name = displayName(command.target)
  const request = requestSchema.safeParse(command.data ?? {})
  if (!request.success) {
    return { ok: false, error: refuse('COMMAND_MALFORMED', 'GetActorLogs', request.error.issues[0]?.message) }
  }
  const actor = await fetchEntity<Actor>(context, command.target)
  if (actor === undefined) return { ok: false, error: refuse('ACTOR_UNKNOWN', name) }
  const node = actor.worker?.node ?? actor.assignedNode
  if (node === '') return { ok: true, result: { lines: [] } }
  return askNode(context, node, 'Logs', {
    actorUid: actor.uid,
    atespace: actor.atespace,
    name: actor.name,
    linesMax: request.data.lines,
  })
}
