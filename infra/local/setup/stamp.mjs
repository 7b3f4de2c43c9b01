import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { createHash } from 'node:crypto'
import path from 'node:path'

/** `<repo>/.torpor/set-up.json`: what was set up, for which pinned files. It makes the next run silent and fast. */

export function stateFolder(root) {
  return path.join(root, '.torpor')
}

export function toolsFolder(root) {
  return path.join(stateFolder(root), 'tools')
}

/** A digest of the two files that pin everything. */
export function pinnedHash(root) {
  const hash = createHash('sha256')
  for (const name of ['package-lock.json', 'infra/local/pinned-tools.json'])
    hash.update(readFileSync(path.join(root, name)))
  return hash.update(`${process.platform} ${process.arch}`).digest('hex')
}

/** @returns {{ hash: string, tools: Record<string, { path: string, version: string }>, absent: string[] } | undefined} */
export function readStamp(root) {
  const file = path.join(stateFolder(root), 'set-up.json')
  if (!existsSync(file)) return undefined
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}

export function writeStamp(root, stamp) {
  const file = path.join(stateFolder(root), 'set-up.json')
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(`${file}.new`, `${JSON.stringify(stamp, undefined, 2)}\n`)
  renameSync(`${file}.new`, file)
}

/** True where the stamp vouches for all of these tools and they still lie where they lay. */
export function stampCovers(stamp, hash, toolNames) {
  if (stamp?.hash !== hash) return false
  return toolNames.every((name) => {
    const tool = stamp.tools[name]
    return tool ? isExecutable(tool.path) : stamp.absent.includes(name)
  })
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
