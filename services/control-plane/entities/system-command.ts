import type { EntityRef, HostCommand } from '@torpor/contracts'
import { entityKey, sha256Hex, uuidV7 } from '@torpor/contracts'
import type { Context } from '../context.ts'

const SYSTEM = { principal: 'system', proof: 'system' } as const

/** A command that the control plane gives itself: what a timer, an effect or another control plane wants of an entity. */
export function systemCommand(
  context: Pick<Context, 'clock' | 'random'>,
  target: EntityRef,
  type: string,
  data: unknown,
  more: { readonly facts?: unknown; readonly correlationId?: string } = {},
): HostCommand {
  const id = uuidV7(context.clock, context.random)
  return {
    id,
    type,
    target,
    data,
    digest: commandDigest(type, target, data),
    principal: SYSTEM,
    correlationId: more.correlationId ?? id,
    ...(more.facts === undefined ? {} : { facts: more.facts }),
  }
}

/** What makes two commands the same command: verb, target and data as they were sent. */
export const commandDigest = (type: string, target: EntityRef, data: unknown): string =>
  sha256Hex(JSON.stringify([type, entityKey(target), data ?? null]))
