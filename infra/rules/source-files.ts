import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Folder of the checkout. */
export const ROOT = join(import.meta.dirname, '..', '..')

export type SourceFile = {
  readonly path: string
  readonly text: string
  /** The text without its comments. */
  readonly code: string
  readonly imports: readonly string[]
}

/** Files that git knows or would take, by path from the root. */
export function listFiles(): readonly string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  return [...new Set(listed.split('\n'))].filter((path) => path !== '' && existsInTree(path))
}

/** TypeScript and JavaScript files, with what they import. */
export const listSources = (): readonly SourceFile[] =>
  listFiles()
    .filter((path) => /\.(ts|tsx|mjs|mts)$/.test(path))
    .map((path) => {
      const text = readFileSync(join(ROOT, path), 'utf8')
      return { path, text, code: withoutComments(text), imports: importsOf(text) }
    })

/** One lazy run up to the first quote: two of them inside each other take for ever on a long file. */
const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)|(?:^|\n)import\s+['"]([^'"]+)['"]/g

/** Specifiers of static and dynamic imports, and of re-exports. */
export const importsOf = (text: string): readonly string[] =>
  [...text.matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? match[3] ?? '')

/** Block comments, and line comments that begin a line or follow a blank. */
const withoutComments = (text: string): string =>
  text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '$1')

/** Tests, suites of laws, and the worlds and servers that only tests start. */
export const isTest = (path: string): boolean =>
  /\.test\.ts$|\/laws\/|(^|\/)(start-)?test-[^/]*\.ts$|\/testing\/|-world\.ts$|-for-tests\.ts$/.test(path)

function existsInTree(path: string): boolean {
  try {
    readFileSync(join(ROOT, path))
    return true
  } catch {
    return false
  }
}
