import type { Actor, ActorTemplate, Refusal, Reply } from '@torpor/contracts'
import { LIMITS, actorRef, isGone, sleep, templateRef } from '@torpor/contracts'
import type { Context } from '../context.ts'
import { sendToOwner } from '../doors/ask-owner.ts'
import { fetchEntity } from '../entities/fetch-entity.ts'
import { systemCommand } from '../entities/system-command.ts'

/** Atespace of the hidden actors whose suspended state is a template's golden snapshot. */
const GOLDEN_ATESPACE = 'torpor-golden'

/**
 * Takes the golden snapshot of a template: a hidden actor, named by the template's uid, starts from the image, answers its
 * probe, and is suspended into the object store. Each step is idempotent, so whoever owns the template goes on where it stands.
 */
export async function takeGoldenSnapshot(context: Context, template: ActorTemplate): Promise<void> {
  const ref = templateRef(template.atespace, template.name)
  const end = await wakeAndSuspend(context, template)
  const command =
    'snapshot' in end
      ? systemCommand(context, ref, 'TakeGoldenSnapshot', end)
      : systemCommand(context, ref, 'FailGoldenSnapshot', end)
  await context.host.submit(command)
}

type GoldenEnd = { readonly snapshot: Actor['snapshots'][number] } | { readonly errorMessage: string }

async function wakeAndSuspend(context: Context, template: ActorTemplate): Promise<GoldenEnd> {
  const ref = actorRef(GOLDEN_ATESPACE, template.uid)
  const named = { template: { atespace: template.atespace, name: template.name } }
  await insist(context, template, () =>
    sendToOwner(
      context,
      systemCommand(context, ref, 'CreateActor', named, { facts: { template, golden: true } }),
    ),
  )
  const existing = await fetchEntity<Actor>(context, ref)
  const taken = existing === undefined ? undefined : goldenOf(existing, template)
  if (taken !== undefined) return { snapshot: taken }
  const resumed = await insist(context, template, () =>
    sendToOwner(context, systemCommand(context, ref, 'ResumeActor', { trigger: 'golden' })),
  )
  if (!resumed.ok) return { errorMessage: textOf(resumed.error) }
  const suspended = await insist(context, template, () =>
    sendToOwner(
      context,
      systemCommand(context, ref, 'SuspendActor', {
        mode: 'sync',
        drain: 'drain',
        drainTimeout: LIMITS.drainMs,
      }),
    ),
  )
  if (!suspended.ok) return { errorMessage: textOf(suspended.error) }
  const { actor } = suspended.result as { readonly actor: Actor }
  const snapshot = goldenOf(actor, template)
  return snapshot === undefined ? { errorMessage: 'its snapshot is not COMPLETED' } : { snapshot }
}

/** The snapshot as actors of the template borrow it. */
function goldenOf(actor: Actor, template: ActorTemplate): Actor['snapshots'][number] | undefined {
  const own = actor.snapshots.find(
    ({ owner, storageState }) =>
      owner === 'SNAPSHOT_OWNER_ACTOR' && storageState === 'SNAPSHOT_STORAGE_STATE_COMPLETED',
  )
  if (actor.state !== 'ACTOR_STATE_SUSPENDED' || own === undefined) return undefined
  return { ...own, owner: 'SNAPSHOT_OWNER_TAG', generation: 1, locality: '', actorTemplateUid: template.uid }
}

/** Tries again while the answer is one that time can change, and the template still waits and is ours. */
async function insist(
  context: Context,
  template: ActorTemplate,
  attempt: () => Promise<Reply<unknown>>,
): Promise<Reply<unknown>> {
  const ref = templateRef(template.atespace, template.name)
  for (let waitMs: number = LIMITS.rpcBackoffMsMin; ; waitMs = Math.min(2 * waitMs, LIMITS.rpcBackoffMsMax)) {
    const reply = await attempt().catch((cause: unknown): Reply<never> => {
      context.note('info', 'a golden snapshot waits', { template: template.name, cause: String(cause) })
      return { ok: false, error: { code: 'SHARD_MOVED', id: '', message: '', remedy: '', retry: 'later' } }
    })
    const state = context.host.peek(ref)
    const waits = state !== undefined && !isGone(state) && (state as ActorTemplate).uid === template.uid
    if (reply.ok || !waits || reply.error.retry === 'never' || reply.error.code === 'ALREADY_EXISTS')
      return reply
    await sleep(context.clock, waitMs)
  }
}

const textOf = (refusal: Refusal): string => refusal.detail ?? refusal.message
