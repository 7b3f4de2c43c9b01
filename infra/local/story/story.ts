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
import { USAGE, readOptions } from './options.ts'
import type { StoryOptions } from './options.ts'
import type { Stage } from './stage.ts'
import { firstCalls, makeTemplate, suspendTwice, wakeTwice } from './steps.ts'
import { measuredTable, nextThings } from './summary.ts'
import { createTeller } from './tell.ts'
import type { Teller } from './tell.ts'

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
  const interrupted = onceInterrupted()
  await mkdir(dataFolder, { recursive: true })
  tell.step(
    1,
    `A Torpor on this machine${options.simulated ? ' (SIMULATED sandboxes: nothing here is gVisor)' : ''}`,
  )
  const stack = await startLocalStack({
    dataFolder,
    sandbox: options.simulated ? 'simulated' : 'gvisor',
    onNotice: (line) => tell.line(line),
    onEvent: (event) => {
      if (event.kind === 'ready') tell.line(`ready  ${event.part.padEnd(16)} ${event.address}`)
      if (event.kind === 'exited' || event.kind === 'gave-up') tell.line(`${event.kind} ${event.part}`)
    },
  })
  try {
    return await withClient(options, tell, clock, stack, interrupted)
  } finally {
    await stack.stop()
    tell.line('every process of the demo has ended')
  }
}

async function withClient(
  options: StoryOptions,
  tell: Teller,
  clock: Clock,
  stack: LocalStack,
  interrupted: Promise<void>,
): Promise<number> {
  const nats = await connectNats({ url: stack.natsUrl, name: 'demo', replicas: 1 })
  const client = createClient({ bus: nats.bus, feed: nats.feed })
  const events = showEvents(client, tell, clock)
  try {
    const stage: Stage = {
      options,
      clock,
      stack,
      client,
      tell,
      actor: client.actor(DEMO_ATESPACE, DEMO_ACTOR),
      host: `${DEMO_ACTOR}.${DEMO_ATESPACE}.actors.localhost`,
      dataFolder: stack.dataFolder,
      newKey: () => uuidV7(clock, systemRandom),
      measuredMs: new Map(),
      eventsShown: events.shown,
    }
    const told = tellSteps(stage)
    const ended = await Promise.race([
      told.then(() => 'told' as const),
      interrupted.then(() => 'stopped' as const),
    ])
    if (ended === 'told' && !options.once) {
      tell.line('It stays up. Ctrl-C ends it.')
      await interrupted
    }
    await suspendAll(client, tell)
    return 0
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

function onceInterrupted(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve())
    process.once('SIGTERM', () => resolve())
  })
}
