import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ALL, refuse, refusalOf } from '@torpor/contracts'
import type { BusMessage, Reply, Subscription } from '@torpor/contracts'
import type { Agent, BacklogMessage } from './context.ts'
import { handleNodeCommand } from './handlers/index.ts'
import { refused } from './handlers/replies.ts'
import { replaceFile } from './state/durable-file.ts'

type Envelope = { readonly id: string; readonly data: unknown }

/** Ids of live commands that the stream may show once more. */
const IDS_KEPT_MAX = 10_000

/** What is handled again after a restart is at most this old; all of it is idempotent. */
const POSITION_WRITE_MS = 1_000

/**
 * Questions are over when nobody waits for the answer, an admission is only worth what its asker still wants, and which
 * workers there shall be is told again whenever the published capacity differs.
 */
const LIVE_ONLY = new Set(['Prepare', 'Abandon', 'Inventory', 'Logs', 'SetWorkers'])

export type CommandServer = {
  subscribe(): Subscription
  /** Handles what was missed; resolves when the backlog ends, if it does. */
  readBacklog(): Promise<void>
}

/** Takes node commands from the bus, and from the stream those that came while no agent was there. */
export function serveCommands(agent: Agent): CommandServer {
  const seen = new Set<string>()
  const remember = (id: string): void => {
    seen.add(id)
    if (seen.size > IDS_KEPT_MAX)
      for (const oldest of [...seen].slice(0, IDS_KEPT_MAX / 2)) seen.delete(oldest)
  }
  const take = async (message: BusMessage, respond: (data: Uint8Array) => void): Promise<void> => {
    const command = parse(message.data)
    if (command !== undefined) remember(command.id)
    const reply = await run(agent, message.subject, command)
    respond(Buffer.from(JSON.stringify(reply)))
  }
  const takeMissed = async (message: BacklogMessage): Promise<void> => {
    const command = parse(message.data)
    if (command === undefined || seen.has(command.id) || LIVE_ONLY.has(verbOf(message.subject))) return
    await run(agent, message.subject, command)
  }
  const positionFile = join(agent.folders.root, 'node-commands-position')
  return {
    subscribe: () =>
      agent.ports.bus.subscribe(
        ALL.nodeCommandsOf(agent.name),
        (message, respond) => void take(message, respond),
      ),
    async readBacklog() {
      const { backlog } = agent.ports
      if (backlog === undefined) return
      let position = Number(await readFile(positionFile, 'utf8').catch(() => '0'))
      let writtenAtMs = 0
      for await (const message of backlog(position)) {
        if (agent.stopped) return
        await takeMissed(message)
        position = message.sequence
        if (agent.ports.clock.monotonicMs() - writtenAtMs < POSITION_WRITE_MS) continue
        writtenAtMs = agent.ports.clock.monotonicMs()
        replaceFile(positionFile, String(position))
      }
      replaceFile(positionFile, String(position))
    },
  }
}

const verbOf = (subject: string): string => subject.slice(subject.lastIndexOf('.') + 1)

/** `{ id, type, data }`; a client by hand may leave the id out. */
function parse(bytes: Uint8Array): Envelope | undefined {
  try {
    const envelope = JSON.parse(Buffer.from(bytes).toString('utf8')) as Partial<Envelope>
    return { id: envelope.id ?? '', data: envelope.data }
  } catch {
    return undefined
  }
}

async function run(agent: Agent, subject: string, command: Envelope | undefined): Promise<Reply<unknown>> {
  const verb = verbOf(subject)
  if (command === undefined) return refused(refuse('COMMAND_MALFORMED', verb, 'is no JSON'))
  try {
    return await handleNodeCommand(agent, verb, command.data)
  } catch (error) {
    agent.ports.log('error', `${verb} failed: ${String(error)}`)
    return refused(refusalOf(error))
  }
}
