import { isDeepStrictEqual } from 'node:util'
import type { ResourceDocument } from '@torpor/contracts'
import { TorporError, actorTemplateSpecSchema, refuse, workerPoolSpecSchema } from '@torpor/contracts'
import type { CallOptions, Calls } from './client.ts'
import { atespaceHandle, templateHandle, workerPoolHandle } from './resource-handles.ts'

/** What {@link applyDocument} did. */
export type ApplyOutcome = 'created' | 'updated' | 'unchanged'

/** Makes the system hold the document. A template is immutable: one that differs is refused with ALREADY_EXISTS. */
export async function applyDocument(
  calls: Calls,
  document: ResourceDocument,
  options?: CallOptions,
): Promise<ApplyOutcome> {
  switch (document.kind) {
    case 'Atespace':
      return createOr(
        () => atespaceHandle(calls, document.metadata.name).create(options),
        () => 'unchanged',
      )
    case 'WorkerPool':
      return applyWorkerPool(calls, document, options)
    case 'ActorTemplate':
      return applyTemplate(calls, document, options)
  }
}

async function applyWorkerPool(
  calls: Calls,
  { metadata, spec }: Extract<ResourceDocument, { kind: 'WorkerPool' }>,
  options?: CallOptions,
): Promise<ApplyOutcome> {
  const pool = workerPoolHandle(calls, metadata.name)
  return createOr(
    () => pool.create(spec, options),
    async (): Promise<ApplyOutcome> => {
      const existing = await pool.get(signalOnly(options))
      if (isDeepStrictEqual(existing.spec, asStored(workerPoolSpecSchema.parse(spec)))) return 'unchanged'
      await pool.update(spec, signalOnly(options))
      return 'updated'
    },
  )
}

async function applyTemplate(
  calls: Calls,
  { metadata, spec }: Extract<ResourceDocument, { kind: 'ActorTemplate' }>,
  options?: CallOptions,
): Promise<ApplyOutcome> {
  const template = templateHandle(calls, metadata.atespace, metadata.name)
  return createOr(
    () => template.create(spec, options),
    async (): Promise<ApplyOutcome> => {
      const existing = await template.get(signalOnly(options))
      if (isDeepStrictEqual(existing.spec, asStored(actorTemplateSpecSchema.parse(spec)))) return 'unchanged'
      const detail = 'with another spec, and templates are immutable'
      throw new TorporError(refuse('ALREADY_EXISTS', `${metadata.atespace}/${metadata.name}`, detail))
    },
  )
}

async function createOr(
  create: () => Promise<unknown>,
  whenThere: () => ApplyOutcome | Promise<ApplyOutcome>,
): Promise<ApplyOutcome> {
  try {
    await create()
    return 'created'
  } catch (thrown) {
    if (thrown instanceof TorporError && thrown.code === 'ALREADY_EXISTS') return whenThere()
    throw thrown
  }
}

/** The same value after a way through JSON: fields that are undefined are not there. */
const asStored = (spec: unknown): unknown => JSON.parse(JSON.stringify(spec))

/** The id of the create must not go out again with another body. */
const signalOnly = (options?: CallOptions): CallOptions => ({
  signal: options?.signal,
  correlationId: options?.correlationId,
})
