import { describe, expect, test } from 'vitest'
import { SUBJECTS, atespaceRef } from '@torpor/contracts'
import { torpor, yes } from '../scripted-world.ts'

describe('apply', () => {
  const template = [
    'apiVersion: torpor.dev/v1',
    'kind: ActorTemplate',
    'metadata: { name: counter, atespace: demo }',
    'spec:',
    '  sandboxClasses: [{ name: gvisor }]',
    '  containers:',
    '    - name: main',
    '      image: oci:counter:latest',
  ]
  const space = ['apiVersion: torpor.dev/v1', 'kind: Atespace', 'metadata: { name: demo }']

  test('creates several documents, what others need first', async () => {
    const { out, sent } = await torpor('apply -f all.yaml', {
      files: { 'all.yaml': [...template, '---', ...space].join('\n') },
      answers: {
        CreateAtespace: () => yes({ atespace: {} }),
        CreateActorTemplate: () => yes({ template: {} }),
      },
    })
    expect(out).toMatch(/^Atespace demo created in \d+ ms\nActorTemplate demo\/counter created in \d+ ms\n$/)
    expect(sent[0]?.subject).toBe(SUBJECTS.rpc(atespaceRef('demo'), 'CreateAtespace'))
    expect(sent[1]?.data).toMatchObject({ spec: { sandboxClasses: [{ name: 'gvisor' }] } })
  })

  test.each([
    [
      'an unknown field',
      [...template, '      imagePull: now'],
      'f.yaml:9: spec.containers.0.imagePull',
      'FIELD_UNKNOWN',
    ],
    ['an unknown kind', space.with(1, 'kind: Sandbox'), 'f.yaml:2: kind', 'DOCUMENT_INVALID'],
    [
      'a value of the wrong kind',
      template.with(7, '      image: 7'),
      'f.yaml:8: spec.containers.0.image',
      'DOCUMENT_INVALID',
    ],
    ['a missing field', template.slice(0, 7), 'f.yaml:7: spec.containers.0.image', 'DOCUMENT_INVALID'],
    [
      'a mistake in the second document',
      [...space, '---', ...template, '      x: 1'],
      'f.yaml:13: spec',
      'FIELD_UNKNOWN',
    ],
    ['text that is no YAML', ['kind: [', 'x'], 'f.yaml:', 'DOCUMENT_INVALID'],
  ])('refuses %s with its line, and sends nothing', async (_, lines, place, code) => {
    const {
      err,
      sent,
      code: exit,
    } = await torpor('apply -f f.yaml', { files: { 'f.yaml': lines.join('\n') } })
    expect(err).toContain(`error: ${place}`)
    expect(err).toContain(`[${code}]`)
    expect(exit).toBe(2)
    expect(sent).toEqual([])
  })

  test('reads standard input, JSON too, and fills in the atespace of -a', async () => {
    const text = JSON.stringify({
      apiVersion: 'torpor.dev/v1',
      kind: 'ActorTemplate',
      metadata: { name: 'counter' },
      spec: { sandboxClasses: [{ name: 'gvisor' }], containers: [{ name: 'main', image: 'i' }] },
    })
    const { out } = await torpor('apply -f - -a demo', {
      files: { '-': text },
      answers: { CreateActorTemplate: () => yes({ template: {} }) },
    })
    expect(out).toContain('ActorTemplate demo/counter created')
  })

  test('says which file cannot be read', async () => {
    const { err, code } = await torpor('apply -f nowhere.yaml')
    expect(err).toContain('error: nowhere.yaml: cannot be read (ENOENT: no such file) [FILE_UNREADABLE]')
    expect(code).toBe(2)
  })
})
