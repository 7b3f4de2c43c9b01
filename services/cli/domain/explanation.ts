import type { Actor, HostCommand } from '@torpor/contracts'
import { COMMANDS, actorRef } from '@torpor/contracts'
import type { RouterTag } from '@torpor/state-machines'
import { actorDecider, actorMachine, routerAnswer } from '@torpor/state-machines'

const ROUTER: Readonly<Record<RouterTag, string>> = {
  wakes: 'a request wakes it',
  parks: 'requests wait',
  routes: 'requests go to it',
  rejects: 'requests are rejected',
}

/** What its state means and what the router does: in the words of the state machine. */
export const meaningOf = ({ state }: Actor): string =>
  `${actorMachine.states[state]?.description ?? ''}; ${ROUTER[routerAnswer(state)]}`

const VERBS = {
  resume: 'ResumeActor',
  suspend: 'SuspendActor',
  revert: 'RevertActor',
  delete: 'DeleteActor',
} as const
type Verb = keyof typeof VERBS

/** Each verb with what would come of it now: the rules themselves are asked, nothing is sent. */
export const allowedIn = (actor: Actor, nowMs: number): readonly (readonly [Verb, string])[] =>
  (Object.keys(VERBS) as Verb[]).map((verb) => [verb, answerTo(verb, actor, nowMs)])

function answerTo(verb: Verb, actor: Actor, nowMs: number): string {
  const decision = decide(verb, {}, actor, nowMs)
  if (decision.kind === 'accepted') {
    return decision.events.length > 0 ? 'allowed' : 'allowed; it is so, or under way, already'
  }
  // The rule of a wake asks for a node that admits the actor; to find one is the control plane's part.
  if (decision.refusal.code === 'PLACEMENT_REQUIRED') return 'allowed'
  if (verb === 'delete' && decide(verb, { anyState: true }, actor, nowMs).kind === 'accepted') {
    return 'only with --any-state'
  }
  return `refused [${decision.refusal.code}]`
}

function decide(verb: Verb, data: object, actor: Actor, nowMs: number) {
  const type = VERBS[verb]
  const target = actorRef(actor.atespace, actor.name)
  const principal = { principal: 'explain', proof: 'anonymous' } as const
  const parsed: unknown = COMMANDS[type].schema.parse(data)
  const command: HostCommand = {
    id: 'explain',
    type,
    target,
    data: parsed,
    digest: '',
    principal,
    correlationId: 'explain',
  }
  const { version } = actor
  return actorDecider.decide(command, actor, { nowMs, epoch: 0, version, newUid: '', target })
}

/** What someone who looks at this actor would do next: sentences, each with its command. */
export function adviceFor(actor: Actor): readonly string[] {
  const name = `${actor.atespace}/${actor.name}`
  switch (actor.state) {
    case 'ACTOR_STATE_SUSPENDED':
      return [`wake it with a request to it, or: torpor resume actor ${name}`, ...uploadAdvice(actor)]
    case 'ACTOR_STATE_RUNNING':
      return [
        `put it to sleep: torpor suspend actor ${name}`,
        `see what it writes: torpor logs actor ${name} -f`,
      ]
    case 'ACTOR_STATE_CRASHED':
      return [
        `see why: torpor history actor ${name}, torpor logs actor ${name}`,
        `go back to its last kept snapshot: torpor revert actor ${name} --then-resume`,
        ...(actor.spec.crashPolicy === 'manual'
          ? ['let it heal itself next time: crashPolicy: restart in its template']
          : []),
      ]
    default:
      return [`wait; see it move on: torpor watch ${name}`, ...deadlineAdvice(actor)]
  }
}

function uploadAdvice({ snapshots }: Actor): readonly string[] {
  return snapshots
    .filter(({ lastError }) => lastError !== undefined)
    .map(
      ({ generation, attempts, lastError }) =>
        `generation ${generation} is not in the object store yet after ${attempts} attempts (${lastError}): check the store: torpor doctor`,
    )
}

function deadlineAdvice({ timers }: Actor): readonly string[] {
  const deadline = timers.find(({ kind }) => kind === 'deadline')
  if (deadline === undefined) return []
  return [
    `if nothing happens, the control plane looks into it at ${new Date(deadline.dueAtMs).toISOString()}`,
  ]
}
