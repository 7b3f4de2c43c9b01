import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { connectNats } from '@torpor/adapter-nats'
import type { Clock } from '@torpor/contracts'
import { refusalLine, refusalOf, systemClock, systemRandom, uuidV7 } from '@torpor/contracts'
import { createClient } from '@torpor/sdk'
import { buildCounterImage } from '../../images/build-counter-image.ts'
import { startLocalStack } from '../supervisor/local-stack.ts'
import type { LocalStack } from '../supervisor/local-stack.ts'
import { removeData } from '../supervisor/remove-data.ts'
import { REPOSITORY } from '../supervisor/tool-paths.ts'
import { measureBare } from './bare-times.ts'
import { DEMO_ACTOR, DEMO_ATESPACE } from './demo-documents.ts'
import { suspendAll } from './end.ts'
import { showEvents } from './show-events.ts'
import type { Interruption } from './interruption.ts'
import { aborted, listenForInterruption, settled } from './interruption.ts'
import { USAGE, readOptions } from './options.ts'
import type { StoryOptions } from './options.ts'
import type { Stage } from './stage.ts'
import { firstCalls, makeTemplate, suspendTwice, wakeTwice } from './steps.ts'
import { measuredTable, nextThings } from './summary.ts'
import { createTeller } from './tell.ts'
import type { Teller } from './tell.ts'

/** What a shell says of a program that Ctrl-C ended: the story was not told to its end. */
const INTERRUPTED_CODE = 130
/** How long the step that was interrupted may take to end before what runs is suspended. */
const STEP_END_MS_MAX = 10_000
const DATA_FOLDER = join(REPOSITORY, '.torpor', 'data')

/** Tells the story with the given words of the command line; the exit code. */
export async function runStory(words: readonly string[]): Promise<number> {
  const options = readOptions(words)
  if ('error' in options) {
    process.stderr.write(`error: ${options.error}\n\n${USAGE}`)
    return 2
  }
  if (options.help) {
    process.stdout.write(USAGE)
    return 0
  }
  const dataFolder = options.data === '' ? DATA_FOLDER : resolve(options.data)
  const tell = createTeller((text) => process.stdout.write(text), systemClock.nowMs(), systemClock.nowMs)
  try {
    if (options.fresh || options.remove) {
      await removeData(dataFolder)
      tell.line(`removed what was in ${dataFolder}`)
    }
    return options.remove ? 0 : await tellStory(options, dataFolder, tell, systemClock)
  } catch (cause) {
    process.stderr.write(`error: ${refusalLine(refusalOf(cause))}\nlogs: ${join(dataFolder, 'logs')}\n`)
    return 1
  }
}

async function tellStory(
  options: StoryOptions,
  dataFolder: string,
  tell: Teller,
  clock: Clock,
): Promise<number> {
  const interruption = listenForInterruption(
    clock.monotonicMs,
    () => tell.line('it ends; Ctrl-C once more ends it without suspending'),
    () => tell.line('it ends now; what ran goes on from its newest snapshot'),
  )
  await mkdir(dataFolder, { recursive: true })
  tell.step(
    1,
    `A Torpor on this machine${options.simulated ? ' (SIMULATED sandboxes: nothing here is gVisor)' : ''}`,
  )
  const stack = await startStack(options, dataFolder, tell, interruption.first)
  if (stack === undefined) return INTERRUPTED_CODE
  try {
    return await withClient(options, tell, clock, stack, interruption)
  } finally {
    await stack.stop()
    tell.line('every process of the demo has ended')
  }
}

/** @returns nothing where it was interrupted: then all of it has ended again */
async function startStack(
  options: StoryOptions,
  dataFolder: string,
  tell: Teller,
  signal: AbortSignal,
): Promise<LocalStack | undefined> {
  try {
    return await startLocalStack({
      dataFolder,
      sandbox: options.simulated ? 'simulated' : 'gvisor',
      signal,
      onNotice: (line) => tell.line(line),
      onEvent: (event) => {
        if (event.kind === 'ready') tell.line(`ready  ${event.part.padEnd(16)} ${event.address}`)
        if (event.kind === 'exited' || event.kind === 'gave-up') tell.line(`${event.kind} ${event.part}`)
      },
    })
  } catch (cause) {
    if (!signal.aborted) throw cause
    tell.line('every process of the demo has ended')
    return undefined
  }
}

async function withClient(
  options: StoryOptions,
  tell: Teller,
  clock: Clock,
  stack: LocalStack,
  { first, second }: Interruption,
): Promise<number> {
  const nats = await connectNats({ url: stack.natsUrl, name: 'demo', replicas: 1 })
  const client = createClient({ bus: nats.bus, feed: nats.feed })
  const events = showEvents(client, tell, clock)
  const stage: Stage = {
    options,
    clock,
    stack,
    client,
    tell,
    signal: first,
    actor: client.actor(DEMO_ATESPACE, DEMO_ACTOR),
    host: `${DEMO_ACTOR}.${DEMO_ATESPACE}.actors.localhost`,
    dataFolder: stack.dataFolder,
    newKey: () => uuidV7(clock, systemRandom),
    measuredMs: new Map(),
    eventsShown: events.shown,
  }
  const told = tellSteps(stage)
  try {
    const ended = await Promise.race([told.then(() => 'told' as const), aborted(first)])
    if (ended === 'told' && !options.once) {
      tell.line('It stays up. Ctrl-C ends it.')
      await aborted(first)
    }
    await settled(told, clock, STEP_END_MS_MAX, second)
    const allSleep = await Promise.race([suspendAll(client, tell, clock), aborted(second)])
    if (ended !== 'told') return INTERRUPTED_CODE
    return allSleep === false ? 1 : 0
  } finally {
    events.close()
    await nats.close()
  }
}

async function tellSteps(stage: Stage): Promise<void> {
  const { reference: image } = await buildCounterImage(join(stage.dataFolder, 'images', 'counter'))
  await makeTemplate(stage, image)
  await firstCalls(stage)
  await suspendTwice(stage)
  await wakeTwice(stage)
  const bare = stage.options.simulated ? undefined : await measureBare(stage, image)
  measuredTable(stage, bare)
  nextThings(stage)
}
