import { LIMITS, SUBJECTS, nodeRef, sleep, uuidV7 } from '@torpor/contracts'
import type { NodeSpec, RenewNodeLeaseResult, Reply } from '@torpor/contracts'
import type { Agent } from '../context.ts'
import { machineMonotonicMs } from './machine-clock.ts'

export type NodeResources = { readonly cpuMilli: number; readonly memoryMib: number }

/**
 * Joins, then renews the node's lease until the agent stops. The guard hears of every grant with the time at which it was
 * asked for, so that the node gives up before anyone else may think that it has.
 */
export async function keepLease(agent: Agent, resources: NodeResources): Promise<void> {
  let joined = false
  let back: LeaseBack | undefined
  while (!agent.stopped) {
    const sentAtMs = machineMonotonicMs()
    const granted: RenewNodeLeaseResult | undefined = joined
      ? await renew(agent)
      : await join(agent, resources)
    joined = granted === undefined ? joined : !granted.rejoin
    if (granted === undefined || !joined) {
      back = undefined
    } else {
      agent.ports.guard?.granted(sentAtMs)
      back ??= { sinceMs: sentAtMs, inventoriesBefore: agent.inventoriesAnswered }
      if (isReconciled(agent, back, sentAtMs)) agent.ports.guard?.reconciled()
    }
    if (granted?.rejoin !== true) await sleep(agent.ports.clock, LIMITS.nodeLeaseRenewMs)
  }
}

/** Since when renewals have been granted without a gap. */
type LeaseBack = { readonly sinceMs: number; readonly inventoriesBefore: number }

/**
 * Control planes compare the log with the inventory of a node every `reconcileMs` and end what must not run. Once each of
 * them has had the time, and the inventory was asked for, this node agrees with the log.
 */
const isReconciled = (agent: Agent, back: LeaseBack, nowMs: number): boolean =>
  agent.inventoriesAnswered > back.inventoriesBefore &&
  nowMs - back.sinceMs >= LIMITS.reconcileMs + LIMITS.nodeLeaseRenewMs

function join(agent: Agent, resources: NodeResources): Promise<RenewNodeLeaseResult | undefined> {
  const spec: NodeSpec = {
    gateAddress: agent.ports.gate.address,
    ...resources,
    sandboxRuntimes: [agent.ports.runtime.version],
    incarnation: agent.incarnation,
  }
  return ask(agent, 'JoinNode', { spec })
}

const renew = (agent: Agent): Promise<RenewNodeLeaseResult | undefined> =>
  ask(agent, 'RenewNodeLease', { incarnation: agent.incarnation, workersDigest: agent.workers.digest() })

/** Undefined when nobody answered or it was refused: then it is asked again after the usual time. */
async function ask(agent: Agent, verb: string, data: unknown): Promise<RenewNodeLeaseResult | undefined> {
  const { bus, clock, random, log } = agent.ports
  const id = uuidV7(clock, random)
  const command = { specversion: '1.0', id, type: verb, source: `node/${agent.name}`, data }
  try {
    const subject = SUBJECTS.rpc(nodeRef(agent.name), verb)
    const options = { timeoutMs: LIMITS.nodeCommandTimeoutMs }
    const answer = await bus.request(subject, Buffer.from(JSON.stringify(command)), options)
    const reply = JSON.parse(Buffer.from(answer).toString('utf8')) as Reply<Partial<RenewNodeLeaseResult>>
    if (reply.ok) return { grantedMs: reply.result?.grantedMs ?? 0, rejoin: reply.result?.rejoin ?? false }
    log('warn', `${verb} was refused: ${reply.error.message} [${reply.error.code}]`)
    return reply.error.code === 'NODE_UNKNOWN' ? { grantedMs: 0, rejoin: true } : undefined
  } catch (error) {
    log('warn', `${verb} was not answered: ${String(error)}`)
    return undefined
  }
}
