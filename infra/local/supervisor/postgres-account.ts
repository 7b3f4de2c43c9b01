import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import path from 'node:path'

/** PostgreSQL refuses to run as root, so root lends it another account; anyone else runs it as they are. */
export type PostgresAccount = { readonly uid: number; readonly gid: number }

const PREFERRED_ACCOUNTS = ['postgres', 'nobody']

/** @returns the owner of an existing data folder, else an account of this machine; nothing where we are not root */
export function chooseAccount(dataFolder: string): PostgresAccount | undefined {
  if (process.getuid?.() !== 0) return undefined
  const owner = statSync(dataFolder, { throwIfNoEntry: false })
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  const accounts = readFileSync('/etc/passwd', 'utf8').split('\n')
  for (const name of PREFERRED_ACCOUNTS) {
    const [, , uid, gid] = accounts.find((line) => line.startsWith(`${name}:`))?.split(':') ?? []
    if (uid && gid) return { uid: Number(uid), gid: Number(gid) }
  }
  throw new Error('no account to run PostgreSQL with: it refuses to run as root')
}

/**
 * The command line that runs a program under that account. Folders of root's home are closed to others; where one is on
 * the way to the binaries or the data, the program keeps the one right to look through closed folders, and no other.
 */
export function asAccount(
  account: PostgresAccount | undefined,
  command: string,
  args: readonly string[],
  folders: readonly string[],
): { readonly command: string; readonly args: readonly string[] } {
  if (!account) return { command, args }
  const rights = folders.every(isOpenToAll)
    ? []
    : ['--inh-caps=+dac_read_search', '--ambient-caps=+dac_read_search']
  const identity = [`--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups']
  return { command: 'setpriv', args: [...identity, ...rights, '--', command, ...args] }
}

const SEARCH_BY_OTHERS = 0o001

function isOpenToAll(folder: string): boolean {
  const parent = path.dirname(folder)
  const stat = statSync(folder, { throwIfNoEntry: false })
  const isOpen = stat === undefined || (stat.mode & SEARCH_BY_OTHERS) !== 0
  return isOpen && (parent === folder || isOpenToAll(parent))
}

/** @returns whether this file can be run by us */
export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
