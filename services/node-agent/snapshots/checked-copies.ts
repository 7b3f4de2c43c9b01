import type { BigIntStats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { LIMITS } from '@torpor/contracts'

/**
 * Copies that this agent wrote, or whose every byte it compared, and that nobody wrote to since: the kernel changes a file's
 * change time with each write, truncation or replacement. Such a copy need not be read again before a wake.
 * In memory on purpose: a new agent compares everything once. See docs/decisions/0007-what-a-wake-verifies.md.
 */
export interface CheckedCopies {
  /** What the files are just now; take it before they are read. Undefined when one is missing. */
  identify(folder: string, files: readonly { readonly path: string }[]): Promise<string | undefined>
  /** The files of `folder`, as they were when `identity` was taken, are what the generation is. */
  remember(folder: string, identity: string): void
  isUnchanged(folder: string, identity: string): boolean
}

/** What tells files from what they were: of two that differ in nothing here nobody wrote to one. */
export const identityOf = (stats: readonly BigIntStats[]): string =>
  stats.map(({ ino, size, mtimeNs, ctimeNs }) => [ino, size, mtimeNs, ctimeNs].join()).join(' ')

export function createCheckedCopies(): CheckedCopies {
  const known = new Map<string, string>()
  return {
    async identify(folder, files) {
      try {
        const stats = await Promise.all(files.map(({ path }) => stat(join(folder, path), { bigint: true })))
        return identityOf(stats)
      } catch {
        return undefined
      }
    },
    remember(folder, identity) {
      known.delete(folder)
      known.set(folder, identity)
      const [oldest] = known.keys()
      if (known.size > LIMITS.checkedCopiesMax && oldest !== undefined) known.delete(oldest)
    },
    isUnchanged: (folder, identity) => known.get(folder) === identity,
  }
}
