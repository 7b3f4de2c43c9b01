import type { Actor, CommandInput, EntityRef } from '@torpor/contracts'
import { actorRef } from '@torpor/contracts'
import type { CallOptions, Calls } from './client.ts'

export type CreateActorOptions = CallOptions & {
  /** Name of a template in the actor's atespace, or of one elsewhere. */
  readonly template: string | { readonly atespace: string; readonly name: string }
}

export type SuspendOptions = CallOptions & CommandInput<'SuspendActor'>

/** One actor. Commands answer with the actor as it stands when they are done. */
export interface ActorHandle {
  readonly ref: EntityRef
  /** Creates it SUSPENDED, on its template's golden snapshot. */
  create(options: CreateActorOptions): Promise<Actor>
  get(options?: CallOptions): Promise<Actor>
  /** Wakes it; an actor that runs already is left as it is. */
  resume(options?: CallOptions & { readonly trigger?: string }): Promise<Actor>
  /** Checkpoints it. `sync` answers when the snapshot is COMPLETED, `async` when it lies on the node. */
  suspend(options?: SuspendOptions): Promise<Actor>
  /** Gives up what it did since its newest COMPLETED snapshot. */
  revert(options?: CallOptions & { readonly thenResume?: boolean }): Promise<Actor>
  /** Resolves when nothing of it is left. Without `anyState` refused outside SUSPENDED and CRASHED. */
  delete(options?: CallOptions & { readonly anyState?: boolean }): Promise<void>
  /** The last lines that its process wrote, while it runs. */
  logs(options?: CallOptions & { readonly lines?: number }): Promise<readonly string[]>
}

export function actorHandle(calls: Calls, atespace: string, name: string): ActorHandle {
  const ref = actorRef(atespace, name)
  return {
    ref,
    async create({ template, ...call }) {
      const named = typeof template === 'string' ? { atespace, name: template } : template
      return (await calls.command(ref, 'CreateActor', { template: named }, call)).actor
    },
    get: async (call) => (await calls.query(ref, 'GetActor', {}, call)).actor,
    resume: async ({ trigger, ...call } = {}) =>
      (await calls.command(ref, 'ResumeActor', given({ trigger }), call)).actor,
    suspend: async ({ mode, drain, drainTimeout, ...call } = {}) =>
      (await calls.command(ref, 'SuspendActor', given({ mode, drain, drainTimeout }), call)).actor,
    revert: async ({ thenResume, ...call } = {}) =>
      (await calls.command(ref, 'RevertActor', given({ thenResume }), call)).actor,
    delete: async ({ anyState, ...call } = {}) =>
      void (await calls.command(ref, 'DeleteActor', given({ anyState }), call)),
    logs: async ({ lines, ...call } = {}) =>
      (await calls.query(ref, 'GetActorLogs', given({ lines }), call)).lines,
  }
}

type Given<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }

/** The fields that have a value: what is left out gets its default from the receiver, and JSON knows no undefined. */
const given = <Fields extends object>(fields: Fields): Given<Fields> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<Fields>
