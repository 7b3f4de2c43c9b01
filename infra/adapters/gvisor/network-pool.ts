/**
 * Networks of sandboxes: one namespace and one pair of interfaces each, with an address of its own (a /30 out of a /16),
 * made ahead. Invariant N1: a network is given to one sandbox at a time, and again only when nothing runs in it: two
 * sandboxes in one namespace would both answer.
 */
import { fault } from '@torpor/contracts'
import { GVISOR_LIMITS, type GvisorOptions } from './options.ts'
import { runCommand } from './run-command.ts'

export type SlotNetwork = {
  /** Also the name of its namespace and of its interface on the host. */
  readonly name: string
  readonly index: number
  readonly ipAddress: string
  readonly namespacePath: string
}

export type NetworkPool = {
  take(): Promise<SlotNetwork>
  /** Back into the pool; its sandbox must be dead. */
  giveBack(network: SlotNetwork): Promise<void>
  /** The network of a sandbox that an earlier agent started. */
  adopt(index: number): SlotNetwork
  /** Removes what an earlier agent left and nobody adopted. */
  removeStrays(): Promise<void>
  /** Removes the free ones. */
  close(): Promise<void>
}

/** How the names of this node's namespaces and interfaces begin. */
export const interfacePrefix = (tag: string): string => `tp${tag}-`

export function networkPool(options: GvisorOptions): NetworkPool {
  const free: SlotNetwork[] = []
  const used = new Set<number>()
  let filling: Promise<void> | undefined
  let closed = false

  const nextIndex = (): number => {
    for (let index = 0; index < GVISOR_LIMITS.slotsMax; index++) if (!used.has(index)) return index
    throw fault('NO_CAPACITY', options.nodeTag, { detail: 'every network of this node is in use' })
  }
  const makeOne = async (): Promise<SlotNetwork> => {
    const index = nextIndex()
    used.add(index)
    const network = networkOf(options, index)
    try {
      await ipBatch(makeLines(options, network))
      await giveAddress(options, network)
      return network
    } catch (cause) {
      used.delete(index)
      throw cause
    }
  }
  const fill = async (): Promise<void> => {
    // oxlint-disable-next-line no-unmodified-loop-condition -- close() sets it meanwhile
    while (!closed && free.length < options.networksAheadMax) free.push(await makeOne())
  }
  const fillLater = (): void => {
    filling ??= fill()
      .catch((cause: unknown) => options.onNote(`networks cannot be made ahead: ${String(cause)}`))
      .finally(() => (filling = undefined))
  }
  return {
    take: async () => {
      const network = free.shift() ?? (await makeOne())
      fillLater()
      return network
    },
    giveBack: async (network) => {
      if (closed || free.length >= options.networksAheadMax) {
        await remove([network.name])
        used.delete(network.index)
        return
      }
      try {
        // the sandbox took the address off the interface when it began
        await giveAddress(options, network)
        free.push(network)
      } catch {
        // it is gone, as all are after the machine began anew
        await remove([network.name])
        used.delete(network.index)
      }
    },
    adopt: (index) => {
      used.add(index)
      return networkOf(options, index)
    },
    removeStrays: async () => {
      const inUse = new Set([...used].map((index) => networkOf(options, index).name))
      const names = await namespaceNames(interfacePrefix(options.nodeTag))
      await remove(names.filter((name) => !inUse.has(name)))
    },
    close: async () => {
      closed = true
      await filling
      const names = free.splice(0).map(({ name, index }) => {
        used.delete(index)
        return name
      })
      await remove(names)
    },
  }
}

/** Removes every network of a node. */
export async function removeNamespaces(nodeTag: string): Promise<void> {
  await remove(await namespaceNames(interfacePrefix(nodeTag)))
}

function networkOf({ nodeTag, network }: GvisorOptions, index: number): SlotNetwork {
  const name = `${interfacePrefix(nodeTag)}${index}`
  return { name, index, ipAddress: address(network, index, 2), namespacePath: `/var/run/netns/${name}` }
}

const address = (network: string, index: number, host: 1 | 2): string =>
  `${network}.${index >> 6}.${((index & 63) << 2) + host}`

/** Both ends know each other's hardware address, so that no packet waits for a question after a restore. */
const hardwareAddress = (index: number, host: 1 | 2): string =>
  `02:74:70:0${host}:${hex(index >> 8)}:${hex(index & 255)}`
const hex = (value: number): string => value.toString(16).padStart(2, '0')

function makeLines({ network }: GvisorOptions, { name, index, ipAddress }: SlotNetwork): readonly string[] {
  const inner = hardwareAddress(index, 2)
  return [
    `netns add ${name}`,
    `link add ${name} address ${hardwareAddress(index, 1)} type veth peer name eth0 address ${inner} netns ${name}`,
    `addr add ${address(network, index, 1)}/30 dev ${name}`,
    `link set ${name} up`,
    `neigh replace ${ipAddress} lladdr ${inner} dev ${name} nud permanent`,
  ]
}

async function giveAddress(
  { network }: GvisorOptions,
  { name, index, ipAddress }: SlotNetwork,
): Promise<void> {
  const gateway = address(network, index, 1)
  await ipBatch(
    [
      'link set lo up',
      `addr replace ${ipAddress}/30 dev eth0`,
      'link set eth0 up',
      `neigh replace ${gateway} lladdr ${hardwareAddress(index, 1)} dev eth0 nud permanent`,
      `route replace default via ${gateway}`,
    ],
    ['-n', name],
  )
}

async function remove(names: readonly string[]): Promise<void> {
  if (names.length === 0) return
  // the interface goes first: that of a dead namespace would linger for a moment with its address
  const lines = names.flatMap((name) => [`link del ${name}`, `netns del ${name}`])
  await runCommand('ip', ['-force', '-batch', '-'], ipOptions(lines))
}

async function ipBatch(lines: readonly string[], where: readonly string[] = []): Promise<void> {
  const { code, stderr } = await runCommand('ip', [...where, '-batch', '-'], ipOptions(lines))
  if (code !== 0) throw fault('INTERNAL', 'network', { detail: stderr.trim().slice(0, 300) })
}

const ipOptions = (lines: readonly string[]): { readonly timeoutMs: number; readonly input: string } => ({
  timeoutMs: GVISOR_LIMITS.ipTimeoutMs,
  input: `${lines.join('\n')}\n`,
})

async function namespaceNames(wanted: string): Promise<readonly string[]> {
  const { stdout } = await runCommand('ip', ['netns', 'list'], { timeoutMs: GVISOR_LIMITS.ipTimeoutMs })
  const names = stdout.split('\n').map((line) => line.split(' ')[0] ?? '')
  return names.filter((name) => name.startsWith(wanted))
}
