import { describe, expect, it } from 'vitest'
import { LIMITS } from '@torpor/contracts'
import { expiryOf, moveParked, park, patienceEndsAtMs } from './parked-request.ts'

const T0 = 1_000
const END = T0 + LIMITS.parkMs

describe('a parked request', () => {
  it('is refused for lack of room when its budget ends unplaced', () => {
    const waiting = park(T0)
    expect(expiryOf(waiting, 'demo/x', END - 1)).toBeUndefined()
    expect(expiryOf(waiting, 'demo/x', END)?.code).toBe('NO_CAPACITY')
  })

  it('waits longer for a restore that runs, and then says so', () => {
    const placed = moveParked(park(T0), 'ActorPlaced')
    expect(expiryOf(placed, 'demo/x', END)).toBeUndefined()
    expect(patienceEndsAtMs(placed)).toBe(END + LIMITS.parkPlacedExtraMs)
    expect(expiryOf(placed, 'demo/x', patienceEndsAtMs(placed))?.code).toBe('WAKE_TIMEOUT')
  })

  it('loses that patience when the actor is placed no more', () => {
    const back = moveParked(moveParked(park(T0), 'ActorPlaced'), 'ActorUnplaced')
    expect(expiryOf(back, 'demo/x', END)?.code).toBe('NO_CAPACITY')
  })

  it.each(['ActorServes', 'BudgetEnded', 'WakeRefused', 'ClientLeft'] as const)(
    'ends once, by %s',
    (event) => {
      const ended = moveParked(park(T0), event)
      expect(ended.state).not.toBe('WAITING')
      expect(moveParked(ended, 'ActorPlaced')).toEqual(ended)
      expect(expiryOf(ended, 'demo/x', END)).toBeUndefined()
    },
  )
})
