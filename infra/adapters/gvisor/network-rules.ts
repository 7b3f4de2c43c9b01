/**
 * What holds for all networks of a node at once. The packet filter: an actor answers who comes to it and begins nothing,
 * neither towards the node nor through it. What it may reach it reaches by the tunnel.
 */
import { fault } from '@torpor/contracts'
import { interfacePrefix } from './network-pool.ts'
import { GVISOR_LIMITS, type GvisorOptions } from './options.ts'
import { runCommand, type CommandResult } from './run-command.ts'

/**
 * Makes addresses of the node's sandboxes that nobody has end here: without it a request to a sandbox that is gone would
 * leave the machine by the default route, and something out there might answer.
 * @throws CONFIG_INVALID when the network is used for something else
 */
export async function claimNetwork({ network, nodeTag }: GvisorOptions): Promise<void> {
  const { stdout } = await ip(['-o', 'route', 'show'])
  const routes = stdout
    .split('\n')
    .filter((line) => line.replace('unreachable ', '').startsWith(`${network}.`))
  const own = (line: string): boolean =>
    line.startsWith('unreachable ') || line.includes(` dev ${interfacePrefix(nodeTag)}`)
  const foreign = routes.find((line) => !own(line))
  if (foreign !== undefined) {
    throw fault('CONFIG_INVALID', `network ${network}`, {
      detail: `in use on this machine: ${foreign.trim()}`,
    })
  }
  await ip(['route', 'replace', 'unreachable', `${network}.0.0/16`])
}

export async function releaseNetwork({ network }: GvisorOptions): Promise<void> {
  await ip(['route', 'del', 'unreachable', `${network}.0.0/16`])
}

/** Sets the rules, once; tells `onNote` when this machine has no `iptables`, and sandboxes are not kept apart. */
export async function setNetworkRules(options: GvisorOptions): Promise<void> {
  for (const rule of rulesOf(options)) {
    if (await iptables('-C', rule)) continue
    if (await iptables('-I', rule)) continue
    options.onNote('iptables is missing or fails: actors can reach this node and each other')
    return
  }
}

export async function removeNetworkRules(options: GvisorOptions): Promise<void> {
  for (const rule of rulesOf(options)) await iptables('-D', rule)
}

function rulesOf({ nodeTag }: GvisorOptions): readonly (readonly string[])[] {
  const from = ['-i', `${interfacePrefix(nodeTag)}+`]
  return [
    ['INPUT', ...from, '-p', 'tcp', '--syn', '-j', 'DROP'],
    ['INPUT', ...from, '!', '-p', 'tcp', '-j', 'DROP'],
    ['FORWARD', ...from, '-j', 'DROP'],
  ]
}

const ip = (args: readonly string[]): Promise<CommandResult> =>
  runCommand('ip', args, { timeoutMs: GVISOR_LIMITS.ipTimeoutMs })

async function iptables(verb: '-C' | '-I' | '-D', rule: readonly string[]): Promise<boolean> {
  const args = ['-w', '5', verb, ...rule]
  const result = await runCommand('iptables', args, { timeoutMs: GVISOR_LIMITS.ipTimeoutMs }).catch(
    () => undefined,
  )
  return result?.code === 0
}
