import { randomSuffix } from '../domain/random-suffix.ts'
import type { ErrorCode } from '@torpor/contracts'
import { TorporError, actorRef, refusalOf, shardOf } from '@torpor/contracts'
import type { SystemInfo, TorporClient } from '@torpor/sdk'
import type { Command } from 'commander'
import type { Context } from '../context.ts'

export type Finding = {
  readonly check: string
  readonly ok: boolean
  readonly detail: string
  /** What to do when it is not well; empty when it is. */
  readonly remedy: string
}

/** How long a part may take to answer before the doctor calls it ill. */
const ANSWER_MS = 3_000
/** More frames than this between log and read model is a projector that does not keep up. */
const LAG_FRAMES_MAX = 1_000

/** Looks at every part, in the order in which they need each other. */
export async function* examine(context: Context, command: Command): AsyncIterable<Finding> {
  const server = await context.server(command)
  const bus = await attempt('bus', async () => {
    const { serverVersion } = await context.connection(command)
    return `${server.url} (from ${server.from}) answers, nats-server ${serverVersion}`
  })
  yield bus
  if (bus.ok) yield* examineParts(await context.client(command), context)
  if (isLocal(server.url)) yield await checkRunsc(context)
}

async function* examineParts(client: TorporClient, context: Context): AsyncIterable<Finding> {
  const found: { system?: SystemInfo } = {}
  yield await attempt('control plane', async () => {
    found.system = await client.system({ timeoutMs: ANSWER_MS })
    const { controlPlane, version, shards } = found.system
    return `${controlPlane} answers, version ${version}, ${shards} shards`
  })
  if (found.system !== undefined) yield await checkLog(client, found.system.shards, context)
  yield await checkReadModel(client)
  yield await checkNodes(client)
}

/** Sends each shard a command that it can only refuse: that it does so shows an owner that decides. */
async function checkLog(client: TorporClient, shards: number, context: Context): Promise<Finding> {
  return attempt('log', async () => {
    for (let shard = 0; shard < shards; shard += 1) {
      const name = nameInShard(shard, shards, context)
      await refusedWith(['ACTOR_UNKNOWN', 'ACTOR_GONE', 'ATESPACE_UNKNOWN'], () =>
        client.command(actorRef(DOCTOR_ATESPACE, name), 'SuspendActor', {}, { timeoutMs: ANSWER_MS }),
      )
    }
    return `all ${shards} shards have an owner that decides`
  })
}

/** No actor of this atespace is ever meant to be there. */
const DOCTOR_ATESPACE = 'torpor-doctor'

function nameInShard(shard: number, shards: number, context: Context): string {
  for (;;) {
    const name = `probe-${randomSuffix(context.world.random)}`
    if (shardOf(DOCTOR_ATESPACE, name, shards) === shard) return name
  }
}

async function refusedWith(codes: readonly ErrorCode[], send: () => Promise<unknown>): Promise<void> {
  try {
    await send()
  } catch (thrown) {
    if (thrown instanceof TorporError && codes.includes(thrown.code)) return
    throw thrown
  }
}

async function checkReadModel(client: TorporClient): Promise<Finding> {
  const read = await attempt('read model', async () => {
    const { shards } = await client.readModel({ timeoutMs: ANSWER_MS })
    return String(
      shards.reduce((sum, { position, lastSequence }) => sum + Math.max(0, lastSequence - position), 0),
    )
  })
  if (!read.ok) return read
  const lag = Number(read.detail)
  const ok = lag <= LAG_FRAMES_MAX
  const remedy = ok ? '' : 'see the log of the projector and the load of PostgreSQL; lists are old meanwhile'
  return { ...read, ok, detail: lag === 0 ? 'as new as the log' : `${lag} frames behind the log`, remedy }
}

async function checkNodes(client: TorporClient): Promise<Finding> {
  const states = new Map<string, string[]>()
  const read = await attempt('nodes', async () => {
    for await (const { name, state } of client.listAll('ListNodes', {}, { timeoutMs: ANSWER_MS })) {
      states.set(state, [...(states.get(state) ?? []), name])
    }
    return [...states].map(([state, names]) => `${state} ${names.join(', ')}`).join('; ') || 'there is none'
  })
  const ill = [...(states.get('NODE_STATE_SUSPECT') ?? []), ...(states.get('NODE_STATE_LOST') ?? [])]
  if (!read.ok || (states.has('NODE_STATE_JOINED') && ill.length === 0)) return read
  const remedy =
    ill.length > 0
      ? `start the node agent of ${ill.join(', ')}, or see why it is silent`
      : 'start a node agent: without one nothing can run'
  return { ...read, ok: false, remedy }
}

async function checkRunsc(context: Context): Promise<Finding> {
  const { environment, run } = context.world
  if (environment['TORPOR_SANDBOX'] === 'simulated')
    return { check: 'runsc', ok: true, detail: 'not needed: sandboxes are simulated', remedy: '' }
  const programs = [environment['TORPOR_RUNSC'], 'runsc', '.torpor/tools/bin/runsc'].filter(
    (program) => program !== undefined,
  )
  for (const program of programs) {
    const version = await run(program, ['--version']).catch(() => undefined)
    if (version !== undefined)
      return { check: 'runsc', ok: true, detail: `${program}: ${version.split('\n')[0] ?? ''}`, remedy: '' }
  }
  return {
    check: 'runsc',
    ok: false,
    detail: `not found as ${programs.join(', ')}`,
    remedy: 'npm run demo sets it up; or set TORPOR_RUNSC to its path',
  }
}

const isLocal = (url: string): boolean => /\/\/(127\.0\.0\.1|localhost|\[::1\])[:/]?/.test(url)

async function attempt(check: string, look: () => Promise<string>): Promise<Finding> {
  try {
    return { check, ok: true, detail: await look(), remedy: '' }
  } catch (thrown) {
    const { message, code, remedy } = refusalOf(thrown)
    return { check, ok: false, detail: `${message} [${code}]`, remedy }
  }
}
