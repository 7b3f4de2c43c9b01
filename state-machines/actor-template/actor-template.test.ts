import { describe, expect, it } from 'vitest'
import { templateRef } from '@torpor/contracts'
import { scene, snapshotRow, templateSpec } from '../given.ts'
import { actorTemplateDecider } from './decider.ts'

const none = () => scene(actorTemplateDecider, templateRef('demo', 'counter'))
const SPEC = { spec: templateSpec() }
const created = () => none().when('CreateActorTemplate', SPEC, { atespaceExists: true })
const TAKEN = { snapshot: snapshotRow(1) }

describe('an actor template', () => {
  it('needs its atespace', () => {
    expect(none().when('CreateActorTemplate', SPEC, { atespaceExists: false }).refusal?.code).toBe(
      'ATESPACE_UNKNOWN',
    )
    expect(none().when('CreateActorTemplate', SPEC).refusal?.code).toBe('ATESPACE_UNKNOWN')
  })

  it('is created once and waits for its golden snapshot', () => {
    expect(created().state).toMatchObject({ atespace: 'demo', name: 'counter', golden: { phase: 'PENDING' } })
    const again = created().when('CreateActorTemplate', SPEC, { atespaceExists: true })
    expect(again.refusal?.code).toBe('ALREADY_EXISTS')
  })

  it('takes its golden snapshot, or its failure, once', () => {
    const ready = created().when('TakeGoldenSnapshot', TAKEN)
    expect(ready.state).toMatchObject({ golden: { phase: 'READY', ...TAKEN } })
    expect(ready.when('FailGoldenSnapshot', { errorMessage: 'late' }).names).toEqual([])
    const failed = created().when('FailGoldenSnapshot', { errorMessage: 'no such image' })
    expect(failed.state).toMatchObject({ golden: { phase: 'FAILED', errorMessage: 'no such image' } })
    expect(failed.when('TakeGoldenSnapshot', TAKEN).names).toEqual([])
  })

  it('is deleted, and unknown after', () => {
    const deleted = created().when('DeleteActorTemplate')
    expect(deleted.state).toMatchObject({ gone: true })
    expect(deleted.when('DeleteActorTemplate').refusal?.code).toBe('TEMPLATE_UNKNOWN')
    expect(deleted.when('TakeGoldenSnapshot', TAKEN).refusal?.code).toBe('TEMPLATE_UNKNOWN')
    expect(deleted.when('CreateActorTemplate', SPEC, { atespaceExists: true }).names).toEqual([
      'ActorTemplateCreated',
    ])
  })
})
