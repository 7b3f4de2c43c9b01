import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { isExecutable } from './postgres-account.ts'

export const REPOSITORY = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..')

export type ToolName = 'nats-server' | 'runsc' | 'skopeo' | 'umoci' | 'ip' | 'tini' | 'versitygw' | 'nats'

/**
 * Where a tool lies: its variable (`TORPOR_NATS_SERVER`), else what the set-up found or made, else PATH.
 * @returns nothing where it is nowhere
 */
export function findTool(name: ToolName): string | undefined {
  const named = process.env[`TORPOR_${name.replace('-', '_').toUpperCase()}`]
  if (named) return named
  const folders = [
    path.join(REPOSITORY, '.torpor/tools/bin'),
    ...(process.env['PATH'] ?? '').split(path.delimiter),
  ]
  const stamped = readStampedPath(name)
  const candidates = [
    ...(stamped ? [stamped] : []),
    ...[...folders, '/usr/sbin', '/sbin'].map((folder) => path.join(folder, name)),
  ]
  return candidates.find(isExecutable)
}

/** @throws Error that says how to get the tool */
export function requireTool(name: ToolName): string {
  const file = findTool(name)
  if (!file)
    throw new Error(
      `${name} is not installed: run "npm run demo" or "npm test" once, they set the machine up`,
    )
  return file
}

function readStampedPath(name: ToolName): string | undefined {
  const file = path.join(REPOSITORY, '.torpor/set-up.json')
  if (!existsSync(file)) return undefined
  const { tools } = JSON.parse(readFileSync(file, 'utf8')) as { tools?: Record<string, { path?: string }> }
  return tools?.[name]?.path
}
