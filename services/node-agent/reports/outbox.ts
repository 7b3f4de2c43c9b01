import { isUndecided, LIMITS, SUBJECTS, sleep, uuidV7 } from '@torpor/contracts'
import type { Bus, Clock, DomainReport, Random, ReportEnvelope, Reply } from '@torpor/contracts'
import type { ActorNames } from '../domain/slot.ts'
import type { Log } from '../log.ts'

/**
 * Reports on their way to the control plane. Invariants: reports of one actor arrive in the order they were sent; each is
 * sent again with the same id until it is answered.
 */
export interface Outbox {
  /** Resolves when it was answered, or given up; nobody need wait. */
  send(actor: ActorNames, report: DomainReport): Promise<void>
  pending(): number
  /** Gives up what is not answered yet: reconciliation makes up for it. */
  stop(): void
}

type World = {
  readonly bus: Bus
  readonly clock: Clock
  readonly random: Random
  readonly node: string
  readonly incarnation: string
  readonly log: Log
}

export function createOutbox(world: World): Outbox {
  const tails = new Map<string, Promise<void>>()
  let pending = 0
  const stop = new AbortController()

  const deliver = async (actor: ActorNames, report: DomainReport): Promise<void> => {
    const subject = SUBJECTS.report(world.node, actor)
    const bytes = Buffer.from(JSON.stringify(envelope(world, actor, report)))
    let backoffMs: number = LIMITS.reportBackoffMsMin
    while (!stop.signal.aborted && !(await isAnswered(world, subject, bytes, report))) {
      await sleep(world.clock, backoffMs)
      backoffMs = Math.min(backoffMs * 2, LIMITS.reportBackoffMsMax)
    }
  }
  return {
    send(actor, report) {
      if (stop.signal.aborted) return Promise.resolve()
      if (pending >= LIMITS.reportsPendingMax) {
        world.log('error', `report ${report.type} of ${actor.name} dropped: ${pending} wait already`)
        return Promise.resolve()
      }
      pending += 1
      const tail = (tails.get(actor.actorUid) ?? Promise.resolve())
        .then(() => deliver(actor, report))
        .finally(() => {
          pending -= 1
          if (tails.get(actor.actorUid) === tail) tails.delete(actor.actorUid)
        })
      tails.set(actor.actorUid, tail)
      return tail
    },
    pending: () => pending,
    stop: () => stop.abort(),
  }
}

/** True for an answer that will not change: applied, or refused for good. */
async function isAnswered(
  world: World,
  subject: string,
  bytes: Uint8Array,
  report: DomainReport,
): Promise<boolean> {
  try {
    const answer = await world.bus.request(subject, bytes, { timeoutMs: LIMITS.reportTimeoutMs })
    const reply = JSON.parse(Buffer.from(answer).toString('utf8')) as Reply<unknown>
    if (reply.ok) return true
    const { code, message } = reply.error
    // the control plane asked a node in turn, which may answer later
    if (isUndecided(code) || code === 'NODE_UNAVAILABLE') return false
    world.log('info', `report ${report.type} was refused: ${message} [${code}]`)
    return true
  } catch {
    return false
  }
}

const envelope = (world: World, actor: ActorNames, report: DomainReport): ReportEnvelope => ({
  specversion: '1.0',
  id: uuidV7(world.clock, world.random),
  type: report.type,
  source: `node/${world.node}`,
  time: new Date(world.clock.nowMs()).toISOString(),
  node: world.node,
  incarnation: world.incarnation,
  actoruid: actor.actorUid,
  data: report.data,
})
