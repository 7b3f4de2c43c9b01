import { registerHooks } from 'node:module'
import { fault } from '@torpor/contracts'
import type { Bug } from './bugs.ts'

/**
 * From here on the sources that a bug is about are loaded with it; none of them may be loaded yet. Throws `INTERNAL` while
 * loading when a source no longer holds what the bug changes: the bug must be planted anew then.
 */
export function plant({ name, edits }: Bug): void {
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      const here = edits.filter(({ file }) => url.endsWith(`/${file}`))
      if (here.length === 0) return loaded
      let source = asText(loaded.source)
      for (const { file, find, replace } of here) {
        if (!source.includes(find))
          throw fault('INTERNAL', name, { detail: `${file} does not hold "${find}"` })
        source = source.replaceAll(find, () => replace)
      }
      return { ...loaded, source }
    },
  })
}

const asText = (source: unknown): string =>
  typeof source === 'string' ? source : Buffer.from(source as Uint8Array).toString('utf8')
