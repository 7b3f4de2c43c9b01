import type { Actor, ActorTemplate, Atespace, Node, WorkerPool } from '@torpor/contracts'
import { age } from '../domain/durations.ts'

/** The columns of a kind: heads, and the cells of one item. */
export type Columns<Item> = {
  readonly heads: readonly string[]
  cells(item: Item, nowMs: number): readonly string[]
}

/** Stands where there is nothing. */
const NONE = '-'

export const ACTOR_COLUMNS: Columns<Actor> = {
  heads: ['ATESPACE', 'NAME', 'TEMPLATE', 'STATE', 'WORKER', 'NODE', 'VERSION', 'AGE'],
  cells: (actor, nowMs) => [
    actor.atespace,
    actor.name,
    templateName(actor),
    actor.state,
    actor.worker?.worker ?? NONE,
    (actor.worker?.node ?? actor.assignedNode) || NONE,
    String(actor.version),
    age(actor.createTimeMs, nowMs),
  ],
}

export const TEMPLATE_COLUMNS: Columns<ActorTemplate> = {
  heads: ['ATESPACE', 'NAME', 'SANDBOX CLASS', 'GOLDEN', 'ERROR', 'AGE'],
  cells: (template, nowMs) => [
    template.atespace,
    template.name,
    classesOf(template.spec),
    template.golden.phase,
    template.golden.errorMessage ?? NONE,
    age(template.createTimeMs, nowMs),
  ],
}

export const POOL_COLUMNS: Columns<WorkerPool> = {
  heads: ['NAME', 'SANDBOX CLASS', 'REPLICAS', 'PLACED', 'CPU', 'MEMORY', 'MAX ACTORS', 'AGE'],
  cells: (pool, nowMs) => [
    pool.name,
    classesOf(pool.spec),
    String(pool.spec.replicas),
    String(pool.workers.length),
    `${pool.spec.template.resources.limits.cpu}m`,
    `${pool.spec.template.resources.limits.memory}Mi`,
    String(pool.spec.maxActors),
    age(pool.createTimeMs, nowMs),
  ],
}

export const NODE_COLUMNS: Columns<Node> = {
  heads: ['NAME', 'STATE', 'SANDBOX CLASS', 'CPU', 'MEMORY', 'GATE', 'AGE'],
  cells: (node, nowMs) => [
    node.name,
    node.state,
    node.spec.sandboxRuntimes.map(({ sandboxClass }) => sandboxClass).join(',') || NONE,
    `${node.spec.cpuMilli}m`,
    `${node.spec.memoryMib}Mi`,
    node.spec.gateAddress,
    age(node.createTimeMs, nowMs),
  ],
}

export const ATESPACE_COLUMNS: Columns<Atespace> = {
  heads: ['NAME', 'AGE'],
  cells: (atespace, nowMs) => [atespace.name, age(atespace.createTimeMs, nowMs)],
}

export const templateName = ({ template }: Actor): string => `${template.atespace}/${template.name}`

const classesOf = (spec: { readonly sandboxClasses: readonly { readonly name: string }[] }): string =>
  spec.sandboxClasses.map(({ name }) => name).join(',')
