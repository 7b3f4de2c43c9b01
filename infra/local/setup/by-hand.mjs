/** The exact commands for what this set-up cannot install itself. */

const INSTALLERS = {
  debian: 'sudo apt-get install -y',
  ubuntu: 'sudo apt-get install -y',
  fedora: 'sudo dnf install -y',
  alpine: 'sudo apk add',
  arch: 'sudo pacman -S --needed',
}

/** @returns {string[]} one line for each missing tool */
export function commandsByHand(names, pinned, facts) {
  return names.map((name) => {
    const tool = pinned[name]
    const family = facts.distribution.family.find((id) => INSTALLERS[id])
    const isDebian = family === 'debian' || family === 'ubuntu'
    const packageName = isDebian ? tool.apt?.package : tool.byPackage?.[family]
    const asPackage = packageName && !tool.go ? `${INSTALLERS[family]} ${packageName}` : undefined
    const command =
      asPackage ?? tool.byHand ?? `install ${tool.command} ${tool.minimum} or newer and put it on PATH`
    return `  ${name} (${tool.purpose}): ${command}`
  })
}

/** What an account without root is told: a list, never half a set-up. */
export function needsRootText(names, pinned, facts) {
  return [
    'torpor: this needs root (packages here; cgroups and network namespaces when it runs):',
    ...commandsByHand(names, pinned, facts),
    'Then run it again as root (sudo -E npm run demo), or without sandboxes: npm run demo -- --simulated',
  ].join('\n')
}
