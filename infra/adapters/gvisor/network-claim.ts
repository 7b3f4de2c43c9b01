/**
 * The network of a node's sandboxes, a /16: chosen once where it is not given, written down, and claimed with a route by
 * which every address of it that no sandbox has ends here. Without that a request to a sandbox that is gone would leave
 * the machine by the default route, and something out there might answer.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fault, fnv1a32 } from '@torpor/contracts'
import { interfacePrefix } from './network-pool.ts'
import { GVISOR_LIMITS, type GvisorOptions } from './options.ts'
import { runCommand } from './run-command.ts'

/** First of a range that is set aside for tests of networks and routed nowhere, then of a private one. */
const CANDIDATES = ['198.18', '198.19', ...Array.from({ length: 60 }, (_, index) => `10.${190 + index}`)]
/** Which agent a claim is of, told by its metric: above what people give to routes. */
const METRIC_LEAST = 100_000

type Claimant = Pick<GvisorOptions, 'nodeTag' | 'stateDir'>

/**
 * Claims `wanted`, or the network that this agent had before, or the first that nobody on this machine uses.
 * @returns the first two numbers of the network, as in `198.18`
 * @throws CONFIG_INVALID when it is used for something else
 */
export async function claimNetwork(claimant: Claimant, wanted: string | undefined): Promise<string> {
  const file = join(claimant.stateDir, 'network')
  const before = await readFile(file, 'utf8').catch(() => undefined)
  const candidates = wanted === undefined ? (before === undefined ? CANDIDATES : [before]) : [wanted]
  let user: string | undefined
  for (const network of candidates) {
    user = await claimOne(claimant, network)
    if (user !== undefined) continue
    await mkdir(claimant.stateDir, { recursive: true })
    await writeFile(file, network)
    return network
  }
  const detail = `in use on this machine: ${user?.trim() ?? ''}`
  throw fault('CONFIG_INVALID', `network ${candidates[0] ?? ''}`, { detail })
}

/** Claims it, and looks again: of two who claim at the same time at most one stays. Returns the route of another user. */
async function claimOne(claimant: Claimant, network: string): Promise<string | undefined> {
  const before = userOf(network, await routes(), claimant)
  if (before !== undefined) return before
  await ip('route', 'replace', ...claim(network, claimant))
  const after = userOf(network, await routes(), claimant)
  if (after !== undefined) await releaseNetwork(claimant, network)
  return after
}

export async function releaseNetwork(claimant: Claimant, network: string): Promise<void> {
  await ip('route', 'del', ...claim(network, claimant))
}

/** Gives back whatever this node claimed, known by its metric: its folder may be gone. */
export async function releaseClaims(claimant: Pick<Claimant, 'nodeTag'>): Promise<void> {
  const claims = (await routes()).filter(
    (line) =>
      line.startsWith('unreachable ') && `${line} `.includes(` metric ${metricOf(claimant.nodeTag)} `),
  )
  for (const line of claims) await ip('route', 'del', ...line.trim().split(/\s+/))
}

/** The route that somebody else has into the network. */
function userOf(network: string, routes: readonly string[], { nodeTag }: Claimant): string | undefined {
  const own = [`metric ${metricOf(nodeTag)} `, `dev ${interfacePrefix(nodeTag)}`]
  return routes.find(
    (line) =>
      line.replace('unreachable ', '').startsWith(`${network}.`) &&
      !own.some((sign) => `${line} `.includes(sign)),
  )
}

const claim = (network: string, { nodeTag }: Claimant): readonly string[] => [
  'unreachable',
  `${network}.0.0/16`,
  'metric',
  `${metricOf(nodeTag)}`,
]

const metricOf = (nodeTag: string): number => METRIC_LEAST + (fnv1a32(nodeTag) % 1_000_000)

const routes = async (): Promise<readonly string[]> => (await ip('-o', 'route', 'show')).split('\n')

async function ip(...args: readonly string[]): Promise<string> {
  return (await runCommand('ip', args, { timeoutMs: GVISOR_LIMITS.ipTimeoutMs })).stdout
}
