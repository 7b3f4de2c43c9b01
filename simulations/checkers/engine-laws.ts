import { isDeepStrictEqual } from 'node:util'
import { entityKey, isGone, shardOf } from '@torpor/contracts'
import type { EntityRef, Outcome } from '@torpor/contracts'
import { counter } from '../../services/actor-host/testing/counter.ts'
import type { Answer, Asked } from '../workload/engine-clients.ts'
import type { Audit, Moment } from './audit-log.ts'
import { auditLog } from './audit-log.ts'

/** A law that a run broke, and how. */
export type Violation = { readonly law: string; readonly what: string }

/** What a run leaves to be looked at: the log of each shard, and what clients were told. */
export type EngineRecord = {
  readonly frames: readonly (readonly Uint8Array[])[]
  readonly asked: readonly Asked[]
}

export const LAWS = {
  chain: 'the chain is intact',
  writer: 'an epoch has one writer, and epochs never fall',
  once: 'a command is applied once',
  kept: 'no acknowledged command is lost',
  committed: 'answers come from committed state only',
} as const

const NOWHERE: Moment = { frame: 0, version: 0, state: undefined }

/** All laws over one run; empty where each holds. */
export function checkEngine({ frames, asked }: EngineRecord): readonly Violation[] {
  const audits: Audit[] = []
  for (const [shard, ofShard] of frames.entries()) {
    try {
      audits.push(auditLog(ofShard))
    } catch (cause) {
      return [{ law: LAWS.chain, what: `shard ${shard}: ${String(cause)}` }]
    }
  }
  const auditOf = (ref: EntityRef): Audit => {
    const audit = audits[shardOf(ref.atespace, ref.name, frames.length)]
    if (audit === undefined) throw new Error(`no log of ${entityKey(ref)}`)
    return audit
  }
  return [
    ...audits.flatMap((audit) => [...checkWriters(audit), ...checkOnce(audit)]),
    ...asked.flatMap((one) => checkAsked(one, auditOf(targetOf(one)), knownBefore(one, asked, auditOf))),
  ]
}

function checkWriters({ writers, headers }: Audit): readonly Violation[] {
  const several = [...writers].filter(([, sources]) => sources.size !== 1)
  const falls = headers.filter(({ epoch }, index) => epoch < (headers[index - 1]?.epoch ?? 0))
  return [
    ...several.map(([epoch, sources]) => ({
      law: LAWS.writer,
      what: `epoch ${epoch}: ${[...sources].join()}`,
    })),
    ...falls.map(({ frame, epoch }) => ({ law: LAWS.writer, what: `frame ${frame} has epoch ${epoch}` })),
  ]
}

const checkOnce = ({ framesOfCommand }: Audit): readonly Violation[] =>
  [...framesOfCommand]
    .filter(([, frames]) => frames > 1)
    .map(([id, frames]) => ({ law: LAWS.once, what: `command ${id} is in ${frames} frames` }))

const targetOf = (asked: Asked): EntityRef => (asked.kind === 'command' ? asked.command.target : asked.target)

/** The newest frame of the same log that somebody had been told of when this was asked: no answer may be older. */
function knownBefore(asked: Asked, all: readonly Asked[], auditOf: (ref: EntityRef) => Audit): number {
  const audit = auditOf(targetOf(asked))
  const told = all.flatMap((other) =>
    other.kind === 'command' && auditOf(other.command.target) === audit
      ? other.answers
          .filter(({ result, order }) => result.ok && order < asked.order)
          .map(() => audit.frameNumbers.get(other.command.id) ?? 0)
      : [],
  )
  return Math.max(0, ...told)
}

function checkAsked(asked: Asked, audit: Audit, from: number): readonly Violation[] {
  if (asked.kind === 'command') {
    const { command } = asked
    return asked.answers.flatMap((answer) =>
      answer.result.ok
        ? checkAccepted(command.id, answer, audit)
        : checkRefused(asked, answer, momentsOf(audit, command.target, from, answer.atFrame)),
    )
  }
  const { target, answers } = asked
  return answers.flatMap(({ result, atFrame }) => {
    const fits = momentsOf(audit, target, from, atFrame).some(
      ({ version, state }) =>
        (isGone(state) && (result.state === undefined || isGone(result.state))) ||
        (version === result.version && isDeepStrictEqual(state, result.state)),
    )
    if (fits) return []
    const what = `a read of ${entityKey(target)} gave version ${result.version} at frame ${atFrame}`
    return [{ law: LAWS.committed, what }]
  })
}

function checkAccepted(id: string, { result, atFrame }: Answer<Outcome>, audit: Audit): readonly Violation[] {
  if (!result.ok) return []
  const event = audit.events.findLast(({ causationid }) => causationid === id)
  if (event?.version !== result.version) {
    const found = event === undefined ? 'nothing of it' : `version ${event.version}`
    return [
      {
        law: LAWS.kept,
        what: `command ${id} was answered with version ${result.version}; the log has ${found}`,
      },
    ]
  }
  const frame = audit.frameNumbers.get(id) ?? 0
  if (frame <= atFrame) return []
  return [
    { law: LAWS.committed, what: `command ${id} was answered at frame ${atFrame}, and stands in ${frame}` },
  ]
}

/** Some state of the time between question and answer must say no in these words. */
function checkRefused(
  asked: Asked & { kind: 'command' },
  { result, atFrame }: Answer<Outcome>,
  moments: readonly Moment[],
): readonly Violation[] {
  if (result.ok) return []
  const { command } = asked
  const { code } = result.refusal
  const context = { nowMs: 0, epoch: 1, newUid: '', target: command.target }
  const fits = moments.some(({ state, version }) => {
    if (isGone(state) && (code === 'ACTOR_GONE' || code === 'ACTOR_UNKNOWN')) return true
    const decision = counter.decide(command, state, { ...context, version })
    return decision.kind === 'refused' && decision.refusal.code === code
  })
  if (fits) return []
  const what = `command ${command.id} was refused with ${code} at frame ${atFrame}, which no committed state does`
  return [{ law: LAWS.committed, what }]
}

/** What the entity was at each frame from the question to the answer. */
function momentsOf(audit: Audit, ref: EntityRef, from: number, to: number): readonly Moment[] {
  const all = audit.history.get(entityKey(ref)) ?? []
  const first = all.findLast(({ frame }) => frame <= from) ?? NOWHERE
  return [first, ...all.filter(({ frame }) => frame > from && frame <= to)]
}
