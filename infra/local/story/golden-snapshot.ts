import type { ActorTemplate, Clock } from '@torpor/contracts'
import { fault } from '@torpor/contracts'
import type { TorporClient } from '@torpor/sdk'
import { awaitCondition } from './await-condition.ts'
import { DEMO_ATESPACE, DEMO_TEMPLATE } from './demo-documents.ts'

const GOLDEN_MS_MAX = 120_000

/** The demo's template once its golden snapshot is taken. Fault TEMPLATE_FAILED, with the reason, when it cannot be. */
export async function awaitGoldenSnapshot(
  client: TorporClient,
  clock: Clock,
  signal?: AbortSignal,
): Promise<ActorTemplate> {
  const look = async (): Promise<ActorTemplate | undefined> => {
    const found = await client.template(DEMO_ATESPACE, DEMO_TEMPLATE).get()
    return found.golden.phase === 'PENDING' ? undefined : found
  }
  const template = await awaitCondition(clock, `template ${DEMO_TEMPLATE}`, GOLDEN_MS_MAX, look, signal)
  if (template.golden.phase === 'FAILED') {
    throw fault('TEMPLATE_FAILED', DEMO_TEMPLATE, { detail: template.golden.errorMessage ?? '' })
  }
  return template
}
