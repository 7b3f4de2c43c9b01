import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ROOT, isTest, listFiles, listSources } from './source-files.ts'

const files = listFiles()
const sources = listSources()

const TOP_FOLDERS = ['contracts', 'docs', 'infra', 'services', 'simulations', 'state-machines']
const LINES_MAX = 400
const NAMELESS = /(^|\/)(utils?|helpers?|common|misc|manager|types|shared|lib)(\.ts|\/)/

const offenders = (pattern: RegExp, except: RegExp): readonly string[] =>
  sources
    .filter(({ path, code }) => !except.test(path) && !isTest(path) && pattern.test(code))
    .map(({ path, code }) => `${path}: ${pattern.exec(code)?.[0]?.trim() ?? ''}`)

describe('the tree', () => {
  test('has only the folders that the architecture names', () => {
    const folders = new Set(
      files.filter((path) => path.includes('/')).map((path) => path.split('/')[0] ?? ''),
    )
    expect([...folders].filter((folder) => !folder.startsWith('.')).toSorted()).toEqual(TOP_FOLDERS)
  })

  test('has a name for everything: no file is called utils, helpers, common, types', () => {
    expect(files.filter((path) => NAMELESS.test(path))).toEqual([])
  })

  test(`has no source file over ${LINES_MAX} lines`, () => {
    const long = sources
      .map(({ path, text }) => ({ path, lines: text.split('\n').length }))
      .filter(({ lines }) => lines > LINES_MAX)
    expect(long).toEqual([])
  })

  test('spells subjects in one file', () => {
    expect(offenders(/['"`]torpor\.v1/, /^contracts\/subjects\.ts$/)).toEqual([])
  })

  test('holds no loose ends', () => {
    const pattern = /\b(TODO|FIXME|XXX)\b|\.(skip|only|todo)\(|@ts-(ignore|expect-error)/
    const loose = sources.filter(({ path, text }) => !path.startsWith('infra/rules/') && pattern.test(text))
    expect(loose.map(({ path }) => path)).toEqual([])
  })

  test('names no folder of a machine and no host of a registry', () => {
    const pattern = /(^|[\s'"`(=])\/(home|work|root)\/|registry\.npmjs|proxy\.golang|deb\.debian|pypi\.org/m
    const texts = files.filter((path) => !/\.(png|lock)$|^infra\/rules\//.test(path))
    const found = texts.filter((path) => pattern.test(readFileSync(join(ROOT, path), 'utf8')))
    expect(found).toEqual([])
  })

  test('pins every dependency to one version', () => {
    const loose = files
      .filter((path) => /(^|\/)package\.json$/.test(path))
      .flatMap((path) => {
        const { dependencies, devDependencies } = JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as {
          dependencies?: Record<string, string>
          devDependencies?: Record<string, string>
        }
        return Object.entries({ ...dependencies, ...devDependencies })
          .filter(
            ([name, range]) => !(name.startsWith('@torpor/') ? range === '*' : /^(npm:.*@)?\d/.test(range)),
          )
          .map(([name, range]) => `${path}: ${name} ${range}`)
      })
    expect(loose).toEqual([])
  })
})
