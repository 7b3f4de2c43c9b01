import { expect, test } from 'vitest'
import type { BenchmarkResult } from './benchmark.ts'
import { reportLine } from './report.ts'

const frame = { bench: 'resume', machine: '2 × a processor', samplesFile: '/tmp/resume.json' }
const result: BenchmarkResult = {
  figures: { node0Ms: 12.3 },
  bars: [
    { name: 'ratio0', value: 1.2, unit: 'ratio', limit: 1.1, direction: '<=' },
    { name: 'rate', value: 1.2, unit: 'per second', limit: 1.1, direction: '>=' },
  ],
  samples: { node0Ms: [12.1, 12.3, 12.9] },
  syncInterval: 'always',
  versions: { node: 'v26.10.0' },
}

test('the last line of a bench is one line of JSON with these keys, and says of each bar whether it holds', () => {
  const line = reportLine(frame, result)
  expect(line).not.toContain('\n')
  const report = JSON.parse(line) as Record<string, unknown>
  expect(Object.keys(report)).toEqual([
    'bench',
    'machine',
    'versions',
    'syncInterval',
    'figures',
    'bars',
    'samplesFile',
  ])
  expect(report).toMatchObject({ ...frame, versions: result.versions, syncInterval: 'always' })
  expect(report['figures']).toEqual({ node0Ms: 12.3 })
  expect(report['bars']).toEqual([
    { ...result.bars[0], holds: false },
    { ...result.bars[1], holds: true },
  ])
})

test('a bar without a value does not hold, and the line stays JSON', () => {
  const line = reportLine(frame, {
    ...result,
    bars: [{ name: 'ratio0', value: Number.NaN, unit: 'ratio', limit: 1.1, direction: '<=' }],
  })
  expect(JSON.parse(line)).toMatchObject({ bars: [{ name: 'ratio0', value: null, holds: false }] })
})
