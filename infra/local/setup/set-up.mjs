import { mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { readFreshCandidates } from './install-tools.mjs'
import { commandsByHand, needsRootText } from './by-hand.mjs'
import { findTool, toolFolders } from './find-tool.mjs'
import { installTools } from './install-tools.mjs'
import {
  NODE_MODULES,
  installNodeModules,
  linkPostgresLibraries,
  nodeModulesMatchLock,
} from './node-modules.mjs'
import { makeNodeRun } from './node-runs.mjs'
import { estimate, planTools } from './plan-setup.mjs'
import { probeMachine } from './probe-machine.mjs'
import { withProgress } from './progress.mjs'
import { pinnedHash, readStamp, stampCovers, toolsFolder, writeStamp } from './stamp.mjs'

const DISK_RESERVE_MIB = 1_024

/** The set-up cannot go on; the text says what to run. */
export class SetUpStopped extends Error {}

/**
 * Makes sure that node modules and these tools are there. Silent and fast when a stamp says so.
 * @param {string} root the repository @param {readonly string[]} toolNames
 * @returns {Promise<Record<string, { path: string, version: string }>>} where each tool lies
 */
export async function setUp(root, toolNames) {
  const hash = pinnedHash(root)
  const stamp = readStamp(root)
  const modulesFit = nodeModulesMatchLock(root)
  if (modulesFit && stampCovers(stamp, hash, toolNames)) return stamp.tools

  const pinned = readPinnedTools(root)
  const facts = await probeMachine(root)
  Object.assign(facts, await readFreshCandidates(facts, toolNames, pinned))
  const toolsDir = toolsFolder(root)
  mkdirSync(path.join(toolsDir, 'bin'), { recursive: true })
  const found = await findTools(toolNames, pinned, toolsDir)
  const missing = toolNames.filter((name) => !found[name])
  const plan = planTools({ missing, pinned, facts })
  stopWhereNothingHelps(plan, pinned, facts)
  announce(root, plan, modulesFit ? undefined : NODE_MODULES, facts)

  if (!modulesFit) await withProgress('node modules', NODE_MODULES.seconds, () => installNodeModules(root))
  linkPostgresLibraries(root)
  await makeNodeRun(root, facts)
  const { installed, failed } =
    missing.length === 0
      ? { installed: {}, failed: {} }
      : await installTools({ missing, pinned, facts, toolsDir })
  stopWhereOneFailed(failed, pinned, facts)
  const known = stamp?.hash === hash ? stamp.tools : {}
  const tools = { ...known, ...found, ...installed }
  writeStamp(root, { hash, tools, absent: Object.keys(failed) })
  return tools
}

function readPinnedTools(root) {
  return JSON.parse(readFileSync(path.join(root, 'infra/local/pinned-tools.json'), 'utf8'))
}

async function findTools(names, pinned, toolsDir) {
  const folders = toolFolders(toolsDir)
  const found = {}
  for (const name of names) {
    const asWanted = await findTool(pinned[name], folders)
    const fallBack =
      asWanted ?? (await findTool(pinned[name], [path.join(toolsDir, 'bin')], pinned[name].minimum))
    if (fallBack) found[name] = fallBack
  }
  return found
}

/** Before anything is changed: what has no way at all here ends the set-up, and what needs root is listed whole. */
function stopWhereNothingHelps(plan, pinned, facts) {
  const names = plan.impossible.filter(({ optional }) => !optional).map(({ name }) => name)
  if (names.length === 0) return
  if (facts.os !== 'linux')
    throw new SetUpStopped('torpor: sandboxes need Linux. Try it without: npm run demo -- --simulated')
  if (!facts.root) throw new SetUpStopped(needsRootText(names, pinned, facts))
  throw new SetUpStopped(
    [
      'torpor: this machine lacks, and the set-up cannot bring:',
      ...commandsByHand(names, pinned, facts),
    ].join('\n'),
  )
}

function announce(root, plan, modules, facts) {
  const names = [...(modules ? ['node modules'] : []), ...plan.install.map(({ name }) => name)]
  if (names.length === 0) return
  const { mib, seconds } = estimate(plan, modules)
  const minutes = Math.max(1, Math.round(seconds / 60))
  console.log(
    `set-up: installs ${names.join(', ')}: about ${mib} MiB of disk (${facts.diskFreeMib} MiB free), about ${minutes} min; ` +
      `into ${path.relative(process.cwd(), root) || '.'}/node_modules, .torpor and the system's packages`,
  )
  if (facts.diskFreeMib < mib + DISK_RESERVE_MIB)
    throw new SetUpStopped(
      `torpor: ${mib + DISK_RESERVE_MIB} MiB of free disk are needed, ${facts.diskFreeMib} MiB are there`,
    )
}

function stopWhereOneFailed(failed, pinned, facts) {
  for (const name of Object.keys(failed)) {
    if (pinned[name].optional)
      console.log(`set-up: without ${name} (${pinned[name].purpose}): tests that need it are skipped`)
  }
  const needed = Object.keys(failed).filter((name) => !pinned[name].optional)
  if (needed.length === 0) return
  const reasons = needed.flatMap((name) => failed[name].map((reason) => `  ${name}: ${reason}`))
  const lines = [
    'torpor: could not install:',
    ...reasons,
    'By hand:',
    ...commandsByHand(needed, pinned, facts),
  ]
  throw new SetUpStopped(lines.join('\n'))
}
