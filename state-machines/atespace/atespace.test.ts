import { describe, expect, it } from 'vitest'
import { atespaceRef } from '@torpor/contracts'
import { UID, scene } from '../given.ts'
import { atespaceDecider } from './decider.ts'

const none = () => scene(atespaceDecider, atespaceRef('demo'))
const created = () => none().when('CreateAtespace')

describe('an atespace', () => {
  it('is created once', () => {
    expect(created().state).toMatchObject({ uid: UID, name: 'demo', version: 1 })
    expect(created().when('CreateAtespace').refusal?.code).toBe('ALREADY_EXISTS')
  })

  it('is deleted only when it holds nothing', () => {
    expect(created().when('DeleteAtespace', {}, { empty: false }).refusal?.code).toBe('ATESPACE_NOT_EMPTY')
    const deleted = created().when('DeleteAtespace', {}, { empty: true })
    expect(deleted.names).toEqual(['AtespaceDeleted'])
    expect(deleted.when('DeleteAtespace').refusal?.code).toBe('ATESPACE_UNKNOWN')
    expect(deleted.when('CreateAtespace').names).toEqual(['AtespaceCreated'])
  })
})
