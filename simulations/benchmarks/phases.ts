import type { CloudEvent } from '@torpor/contracts'
import { domainEventOf } from '@torpor/contracts'
import { median, round1 } from './statistics.ts'

/** Milliseconds of each phase that the node told with an event of this type, as medians over its occurrences. */
export function medianPhases(
  events: readonly CloudEvent[],
  type: 'ActorResumed' | 'ActorSuspended',
): Readonly<Record<string, number>> {
  const all = events.flatMap((event) => {
    const domain = domainEventOf(event)
    return domain?.type === type && 'phasesMs' in domain.data ? [domain.data.phasesMs] : []
  })
  const names = [...new Set(all.flatMap((phases) => Object.keys(phases)))]
  return Object.fromEntries(names.map((name) => [name, median(all.map((phases) => phases[name] ?? 0))]))
}

/** One line: each phase of the node, then what is left of the whole (bus, log, control plane, router, gate). */
export function phaseLine(wholeMs: number, bareMs: number, phases: Readonly<Record<string, number>>): string {
  const parts = Object.entries(phases).filter(([name]) => name !== 'total')
  const onNodeMs = phases['total'] ?? parts.reduce((sum, [, ms]) => sum + ms, 0)
  const told = parts.map(([name, ms]) => `${name} ${round1(ms)}`).join(' + ')
  const rest = round1(wholeMs - onNodeMs)
  return `${round1(wholeMs)} ms = node ${round1(onNodeMs)} (${told}) + log, bus, router, gate ${rest}; bare ${round1(bareMs)}, difference ${round1(wholeMs - bareMs)}`
}
