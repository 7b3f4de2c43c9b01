import type { Actor, ActorStateName } from '@torpor/contracts'

/** What a state means, for someone who meets it for the first time. */
const MEANINGS: Readonly<Record<ActorStateName, string>> = {
  ACTOR_STATE_SUSPENDED: 'at rest; books nothing; the next request wakes it',
  ACTOR_STATE_RESUMING: 'a node has admitted it and restores it; requests wait meanwhile',
  ACTOR_STATE_RUNNING: 'it serves, and books its worker',
  ACTOR_STATE_SUSPENDING: 'open requests end, then it is checkpointed; new requests wait meanwhile',
  ACTOR_STATE_CRASHED: 'what it did since its last kept snapshot is lost; requests are rejected',
  ACTOR_STATE_REVERTING: 'its sandbox is torn down; its newest COMPLETED snapshot becomes current',
  ACTOR_STATE_DELETING: 'sandbox, snapshots and volumes are being collected',
}

type Verb = 'resume' | 'suspend' | 'revert' | 'delete'
/** `yes`: it changes something. `joins`: the same is going on already. `nothing`: it is so already. */
type Answer = 'yes' | 'joins' | 'nothing' | 'only with --any-state' | 'no'

const ALLOWED: Readonly<Record<ActorStateName, Readonly<Record<Verb, Answer>>>> = {
  ACTOR_STATE_SUSPENDED: { resume: 'yes', suspend: 'nothing', revert: 'no', delete: 'yes' },
  ACTOR_STATE_RESUMING: { resume: 'joins', suspend: 'no', revert: 'no', delete: 'only with --any-state' },
  ACTOR_STATE_RUNNING: { resume: 'nothing', suspend: 'yes', revert: 'yes', delete: 'only with --any-state' },
  ACTOR_STATE_SUSPENDING: { resume: 'no', suspend: 'joins', revert: 'no', delete: 'only with --any-state' },
  ACTOR_STATE_CRASHED: { resume: 'no', suspend: 'no', revert: 'yes', delete: 'yes' },
  ACTOR_STATE_REVERTING: { resume: 'no', suspend: 'no', revert: 'joins', delete: 'only with --any-state' },
  ACTOR_STATE_DELETING: { resume: 'no', suspend: 'no', revert: 'no', delete: 'joins' },
}

const ANSWERS: Readonly<Record<Answer, string>> = {
  yes: 'allowed',
  joins: 'allowed; joins what is going on',
  nothing: 'allowed; changes nothing',
  'only with --any-state': 'only with --any-state',
  no: 'refused in this state',
}

export const meaningOf = (actor: Actor): string => MEANINGS[actor.state]

/** Each verb with whether this state allows it. */
export const allowedIn = (actor: Actor): readonly (readonly [Verb, string])[] =>
  (Object.entries(ALLOWED[actor.state]) as [Verb, Answer][]).map(([verb, answer]) => [verb, ANSWERS[answer]])

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
