/**
 * What holds for all networks of a node at once. The packet filter: an actor answers who comes to it and begins nothing,
 * neither towards the node nor through it. What it may reach it reaches by the tunnel.
 */
import { interfacePrefix } from './network-pool.ts'
import { GVISOR_LIMITS, type GvisorOptions } from './options.ts'
import { runCommand } from './run-command.ts'

/** Sets the rules, once; tells `onNote` when this machine has no `iptables`, and sandboxes are not kept apart. */
export async function setNetworkRules(options: GvisorOptions): Promise<void> {
  for (const rule of rulesOf(options)) {
    if (await iptables('-C', rule)) continue
    if (await iptables('-I', rule)) continue
    options.onNote('iptables is missing or fails: actors can reach this node and each other')
    return
  }
}

export async function removeNetworkRules(options: Pick<GvisorOptions, 'nodeTag'>): Promise<void> {
  for (const rule of rulesOf(options)) await iptables('-D', rule)
}

function rulesOf({ nodeTag }: Pick<GvisorOptions, 'nodeTag'>): readonly (readonly string[])[] {
  const from = ['-i', `${interfacePrefix(nodeTag)}+`]
  return [
    ['INPUT', ...from, '-p', 'tcp', '--syn', '-j', 'DROP'],
    ['INPUT', ...from, '!', '-p', 'tcp', '-j', 'DROP'],
    ['FORWARD', ...from, '-j', 'DROP'],
  ]
}

async function iptables(verb: '-C' | '-I' | '-D', rule: readonly string[]): Promise<boolean> {
  const args = ['-w', '5', verb, ...rule]
  const result = await runCommand('iptables', args, { timeoutMs: GVISOR_LIMITS.ipTimeoutMs }).catch(
    () => undefined,
  )
  return result?.code === 0
}
