import type {
  Actor,
  Bus,
  InventorySandbox,
  NodeCommandName,
  NodeSpec,
  ReportData,
  ReportName,
  Reply,
  SandboxRuntimeVersion,
} from '@torpor/contracts'
import { ALL, SUBJECTS, actorRef, nodeRef, systemClock, systemRandom, uuidV7 } from '@torpor/contracts'
import { decodeJson, encodeJson } from '../entities/json.ts'

const BEAT_MS = 200
const ANSWER_MS_MAX = 5_000

export type AskedOfNode = { readonly verb: NodeCommandName; readonly data: Readonly<Record<string, unknown>> }

/**
 * A node of which a test decides every word: it joins, renews its lease and offers one worker, and does and says only what
 * it is told. What it is asked is kept.
 */
export type ScriptedNode = {
  readonly name: string
  readonly asked: readonly AskedOfNode[]
  readonly sandboxes: InventorySandbox[]
  /** Answers this verb in its own way from now on; undefined leaves it unanswered. */
  answer(verb: NodeCommandName, reply: (data: AskedOfNode['data']) => Reply<unknown> | undefined): void
  report<Name extends ReportName>(actor: Actor, type: Name, data: ReportData<Name>): Promise<Reply<unknown>>
  /** Ends it as a crash does: it says nothing more. */
  stop(): void
}

export async function startScriptedNode(
  bus: Bus,
  name: string,
  sandboxRuntime: SandboxRuntimeVersion,
): Promise<ScriptedNode> {
  const incarnation = uuidV7(systemClock, systemRandom)
  const asked: AskedOfNode[] = []
  const sandboxes: InventorySandbox[] = []
  const scripts = new Map<string, (data: AskedOfNode['data']) => Reply<unknown> | undefined>()
  const spec: NodeSpec = {
    gateAddress: '127.0.0.1:1',
    cpuMilli: 4_000,
    memoryMib: 8_192,
    sandboxRuntimes: [sandboxRuntime],
    incarnation,
  }
  const usual = (verb: string, data: AskedOfNode['data']): Reply<unknown> => {
    if (verb === 'Inventory') {
      return { ok: true, result: { node: name, incarnation, sandboxes, prepares: [], snapshots: [] } }
    }
    if (verb !== 'Prepare') return { ok: true, result: null }
    const { prepareId, worker } = data
    return { ok: true, result: { prepareId, worker, node: name, gateAddress: spec.gateAddress } }
  }
  const subscription = bus.subscribe(ALL.nodeCommandsOf(name), (message, respond) => {
    const verb = message.subject.slice(message.subject.lastIndexOf('.') + 1) as NodeCommandName
    const { data } = decodeJson(message.data) as { readonly data: AskedOfNode['data'] }
    asked.push({ verb, data })
    const script = scripts.get(verb)
    const reply = script === undefined ? usual(verb, data) : script(data)
    if (reply !== undefined) respond(encodeJson(reply))
  })
  const ask = async (verb: string, data: unknown): Promise<void> => {
    const bytes = encodeJson(data)
    await bus.request(SUBJECTS.rpc(nodeRef(name), verb), bytes, { timeoutMs: ANSWER_MS_MAX })
  }
  await ask('JoinNode', { spec })
  let cancel: () => void = () => undefined
  const beat = () => {
    bus.publish(SUBJECTS.capacity(name), encodeJson(capacityOf(name, spec)))
    ask('RenewNodeLease', { incarnation, workersDigest: '' }).catch(() => undefined)
    cancel = systemClock.after(BEAT_MS, beat)
  }
  beat()
  return {
    name,
    asked,
    sandboxes,
    answer: (verb, reply) => void scripts.set(verb, reply),
    async report(actor, type, data) {
      const envelope = {
        specversion: '1.0',
        id: uuidV7(systemClock, systemRandom),
        type,
        source: `node/${name}`,
        time: new Date(systemClock.nowMs()).toISOString(),
        node: name,
        incarnation,
        actoruid: actor.uid,
        data,
      }
      const subject = SUBJECTS.report(name, actorRef(actor.atespace, actor.name))
      const answer = await bus.request(subject, encodeJson(envelope), { timeoutMs: ANSWER_MS_MAX })
      return decodeJson(answer) as Reply<unknown>
    },
    stop() {
      cancel()
      subscription.unsubscribe()
    },
  }
}

function capacityOf(node: string, { gateAddress, sandboxRuntimes, cpuMilli, memoryMib }: NodeSpec) {
  const worker = {
    worker: `${node}-0`,
    workerPool: 'pool',
    sandboxClass: 'gvisor',
    labels: {},
    cpuMilli,
    memoryMib,
    maxActors: 100,
    bookedCpuMilli: 0,
    bookedMemoryMib: 0,
    actors: 0,
  }
  return {
    node,
    gateAddress,
    timeMs: systemClock.nowMs(),
    draining: false,
    sandboxRuntimes,
    workers: [worker],
  }
}
