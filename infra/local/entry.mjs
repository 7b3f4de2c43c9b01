/**
 * The one thing that runs before anything is installed: only what Node 18 has built in. It sets the machine up, then
 * hands over to the pinned Node.
 *
 *   node infra/local/entry.mjs demo|test|check|bench|simulate|docs [arguments]
 */
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { pinnedNode } from './setup/node-modules.mjs'
import { TOOL_SETS } from './setup/plan-setup.mjs'
import { describeMicroVmSupport } from './setup/probe-machine.mjs'
import { SetUpStopped, setUp } from './setup/set-up.mjs'
import { toolsFolder } from './setup/stamp.mjs'

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')
const VITEST = 'node_modules/vitest/vitest.mjs'

/** Which tools a verb needs, and the command lines it runs one after the other. */
const VERBS = {
  demo: (args) => ({
    tools: args.includes('--simulated') || args.includes('--help') ? TOOL_SETS.bus : TOOL_SETS.sandboxes,
    runs: [['infra/local/story/main.ts', ...args]],
  }),
  test: (args) => ({ tools: TOOL_SETS.tests, runs: [[VITEST, 'run', ...args]] }),
  check: (args) => ({ tools: TOOL_SETS.tests, runs: [['infra/local/check.ts', ...args]] }),
  bench: (args) => ({
    tools: args.includes('--list') ? [] : TOOL_SETS.tests,
    runs: [['simulations/benchmarks/main.ts', ...args]],
  }),
  simulate: (args) => ({ tools: TOOL_SETS.none, runs: [['simulations/main.ts', ...args]] }),
  docs: (args) => ({ tools: TOOL_SETS.none, runs: [['infra/rules/generate-docs.ts', ...args]] }),
}

process.exitCode = await main(process.argv.slice(2))

async function main([verb, ...args]) {
  const plan = VERBS[verb]?.(args)
  if (!plan) {
    console.error(`torpor: ${verb ?? 'no verb'}: use one of ${Object.keys(VERBS).join(', ')}`)
    return 2
  }
  try {
    const tools = await setUp(root, plan.tools)
    if (verb === 'demo') console.log(describeMicroVmSupport())
    for (const run of plan.runs) {
      const code = await handOver(run, environmentFor(tools))
      if (code !== 0) return code
    }
    return 0
  } catch (error) {
    console.error(error instanceof SetUpStopped ? error.message : `torpor: the set-up failed: ${error.stack}`)
    return 1
  }
}

/** Parts and tests find each tool by its variable (TORPOR_NATS_SERVER, TORPOR_RUNSC, …) or on PATH. */
function environmentFor(tools) {
  const folders = [
    path.join(root, 'node_modules/.bin'),
    path.join(toolsFolder(root), 'bin'),
    process.env.PATH,
    '/usr/sbin',
    '/sbin',
  ]
  const env = {
    ...process.env,
    PATH: folders.filter(Boolean).join(path.delimiter),
    TORPOR_STARTED_BY: String(process.pid),
  }
  for (const [name, tool] of Object.entries(tools))
    env[`TORPOR_${name.replace('-', '_').toUpperCase()}`] ??= tool.path
  return env
}

/** The child's end is our end. A terminal sends Ctrl-C to both of us, so only other senders are passed on. */
function handOver(args, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(pinnedNode(root), args, { cwd: root, env, stdio: 'inherit' })
    const relay = (signal) => {
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    }
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
    for (const signal of signals) process.on(signal, relay)
    child.on('error', reject)
    child.on('close', (code, signal) => {
      for (const name of signals) process.off(name, relay)
      resolve(code ?? 128 + (constants.signals[signal] ?? 0))
    })
  })
}
