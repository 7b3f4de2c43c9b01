import type { AnyStateMachine } from 'xstate'
import { actorMachine } from './actor-lifecycle/machine.ts'
import { readTransitions } from './transition-table.ts'

type Edge = { readonly from: string; readonly to: string; readonly events: readonly string[] }

/** The machine's states and moves as Mermaid text; events that leave a state as it is are left to the table. */
export function mermaidOf(machine: AnyStateMachine): string {
  const lines = edgesOf(machine)
    .filter(({ from, to }) => from !== to)
    .map(({ from, to, events }) => `  ${from} --> ${to}: ${events.join(', ')}`)
  const start = `  [*] --> ${String(machine.config.initial)}`
  return ['stateDiagram-v2', start, ...lines, ''].join('\n')
}

/** The machine as two Markdown tables: what each state means, and which event leads where. */
export function tablesOf(machine: AnyStateMachine): string {
  const states = Object.entries(machine.states).map(
    ([name, { description, tags }]) => `| ${name} | ${tags.join(', ')} | ${description ?? ''} |`,
  )
  const moves = edgesOf(machine).map(
    ({ from, to, events }) => `| ${from} | ${events.join(', ')} | ${from === to ? '(stays)' : to} |`,
  )
  return [
    '| State | Router | Meaning |',
    '|---|---|---|',
    ...states,
    '',
    '| From | Event | To |',
    '|---|---|---|',
    ...moves,
    '',
  ].join('\n')
}

/** The picture of an actor's life, for generated docs. */
export const lifecycleDiagram = (): string => mermaidOf(actorMachine).trimEnd()

/** The tables of an actor's life, for generated docs. */
export const lifecycleTable = (): string => tablesOf(actorMachine).trimEnd()

function edgesOf(machine: AnyStateMachine): readonly Edge[] {
  return Object.entries(readTransitions<string, string>(machine)).flatMap(([from, moves]) => {
    const byTarget = Map.groupBy(Object.entries(moves), ([, to]) => to ?? '')
    return [...byTarget].map(([to, found]) => ({ from, to, events: found.map(([event]) => event) }))
  })
}
