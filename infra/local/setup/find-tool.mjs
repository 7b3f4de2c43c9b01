import { accessSync, constants } from 'node:fs'
import path from 'node:path'
import { runCommand } from './run-command.mjs'
import { isAtLeast } from './versions.mjs'

const VERSION_TIMEOUT_MS = 20_000

/** Folders where a tool of that name may lie: ours first, then PATH, then where packages put what root runs. */
export function toolFolders(toolsDir, environment = process.env) {
  return [
    path.join(toolsDir, 'bin'),
    ...(environment.PATH ?? '')
      .split(path.delimiter)
      .filter((folder) => folder && !folder.includes('node_modules')),
    '/usr/local/sbin',
    '/usr/sbin',
    '/sbin',
  ]
}

/**
 * The first good one: it is run, and what it says of its version counts, not its name.
 * @returns {Promise<{ path: string, version: string } | undefined>}
 */
export async function findTool(pinned, folders, minimum = pinned.wanted) {
  for (const candidate of new Set(folders.map((folder) => path.join(folder, pinned.command)))) {
    if (!isExecutable(candidate)) continue
    const version = await readVersion(pinned, candidate)
    if (version !== undefined && isAtLeast(version, minimum)) return { path: candidate, version }
  }
  return undefined
}

/** @returns {Promise<string | undefined>} nothing where the tool does not run */
export async function readVersion(pinned, file) {
  const { stdout, stderr } = await runCommand(file, pinned.versionArgs, { timeoutMs: VERSION_TIMEOUT_MS })
  return new RegExp(pinned.versionPattern).exec(`${stdout}\n${stderr}`)?.[1]
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
