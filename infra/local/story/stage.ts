import type { Actor, Clock } from '@torpor/contracts'
import type { ActorHandle, TorporClient } from '@torpor/sdk'
import type { LocalStack } from '../supervisor/local-stack.ts'
import type { StoryOptions } from './options.ts'
import type { Teller } from './tell.ts'

/** What each step of the story works with. */
export type Stage = {
  readonly options: StoryOptions
  readonly clock: Clock
  readonly stack: LocalStack
  readonly client: TorporClient
  readonly actor: ActorHandle
  readonly tell: Teller
  /** The counter's own Host, for the router. */
  readonly host: string
  /** Where the demo keeps its ledger. */
  readonly dataFolder: string
  /** Aborted when the story is to stop. */
  readonly signal: AbortSignal
  readonly newKey: () => string
  /** Milliseconds by row of the table at the end. */
  readonly measuredMs: Map<string, number>
  /** Waits until what was committed so far has been printed as events; bounded. */
  readonly eventsShown: (actor: Actor) => Promise<void>
}

/** Runs and times one thing, under the name of its row. */
export async function measure<Result>(
  stage: Stage,
  row: string,
  run: () => Promise<Result>,
): Promise<Result> {
  const beganMs = stage.clock.monotonicMs()
  const result = await run()
  stage.measuredMs.set(row, stage.clock.monotonicMs() - beganMs)
  return result
}
