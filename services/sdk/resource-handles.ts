import type { ActorTemplate, Atespace, CommandInput, EntityRef, Node, WorkerPool } from '@torpor/contracts'
import { atespaceRef, nodeRef, templateRef, workerPoolRef } from '@torpor/contracts'
import type { CallOptions, Calls } from './client.ts'

type TemplateSpec = CommandInput<'CreateActorTemplate'>['spec']
type PoolSpec = CommandInput<'CreateWorkerPool'>['spec']

/** One template: immutable, its golden snapshot is taken after it was created. */
export interface TemplateHandle {
  readonly ref: EntityRef
  create(spec: TemplateSpec, options?: CallOptions): Promise<ActorTemplate>
  get(options?: CallOptions): Promise<ActorTemplate>
  delete(options?: CallOptions): Promise<void>
}

export function templateHandle(calls: Calls, atespace: string, name: string): TemplateHandle {
  const ref = templateRef(atespace, name)
  return {
    ref,
    create: async (spec, call) => (await calls.command(ref, 'CreateActorTemplate', { spec }, call)).template,
    get: async (call) => (await calls.query(ref, 'GetActorTemplate', {}, call)).template,
    delete: async (call) => void (await calls.command(ref, 'DeleteActorTemplate', {}, call)),
  }
}

/** One pool of workers. */
export interface WorkerPoolHandle {
  readonly ref: EntityRef
  create(spec: PoolSpec, options?: CallOptions): Promise<WorkerPool>
  update(spec: PoolSpec, options?: CallOptions): Promise<WorkerPool>
  get(options?: CallOptions): Promise<WorkerPool>
  delete(options?: CallOptions): Promise<void>
}

export function workerPoolHandle(calls: Calls, name: string): WorkerPoolHandle {
  const ref = workerPoolRef(name)
  return {
    ref,
    create: async (spec, call) => (await calls.command(ref, 'CreateWorkerPool', { spec }, call)).workerPool,
    update: async (spec, call) => (await calls.command(ref, 'UpdateWorkerPool', { spec }, call)).workerPool,
    get: async (call) => (await calls.query(ref, 'GetWorkerPool', {}, call)).workerPool,
    delete: async (call) => void (await calls.command(ref, 'DeleteWorkerPool', {}, call)),
  }
}

/** One atespace. It is deleted only when nothing is in it. */
export interface AtespaceHandle {
  readonly ref: EntityRef
  create(options?: CallOptions): Promise<Atespace>
  get(options?: CallOptions): Promise<Atespace>
  delete(options?: CallOptions): Promise<void>
}

export function atespaceHandle(calls: Calls, name: string): AtespaceHandle {
  const ref = atespaceRef(name)
  return {
    ref,
    create: async (call) => (await calls.command(ref, 'CreateAtespace', {}, call)).atespace,
    get: async (call) => (await calls.query(ref, 'GetAtespace', {}, call)).atespace,
    delete: async (call) => void (await calls.command(ref, 'DeleteAtespace', {}, call)),
  }
}

/** One node. */
export interface NodeHandle {
  readonly ref: EntityRef
  get(options?: CallOptions): Promise<Node>
  /** Lets it take nothing new, and suspends what runs there. */
  drain(options?: CallOptions): Promise<Node>
}

export function nodeHandle(calls: Calls, name: string): NodeHandle {
  const ref = nodeRef(name)
  return {
    ref,
    get: async (call) => (await calls.query(ref, 'GetNode', {}, call)).node,
    drain: async (call) => (await calls.command(ref, 'DrainNode', {}, call)).node,
  }
}
