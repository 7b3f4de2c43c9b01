import { setup } from 'xstate'

export type ParkedStateName = 'WAITING' | 'PLACED' | 'SERVED' | 'EXPIRED' | 'REFUSED' | 'LEFT'
export type ParkedEventName =
  | 'ActorPlaced'
  | 'ActorUnplaced'
  | 'ActorServes'
  | 'BudgetEnded'
  | 'WakeRefused'
  | 'ClientLeft'

/** A request whose actor does not serve yet. Placed, it waits for a restore that runs, which is worth more patience. */
// oxfmt-ignore
export const parkedRequestMachine = setup({ types: { events: {} as { type: ParkedEventName } } }).createMachine({
  id: 'parked-request',
  initial: 'WAITING',
  states: {
    WAITING: { description: 'no node has admitted the actor yet', on: {
      ActorPlaced: 'PLACED', ActorServes: 'SERVED', BudgetEnded: 'EXPIRED', WakeRefused: 'REFUSED', ClientLeft: 'LEFT' } },
    PLACED: { description: 'a node restores the actor', on: {
      ActorUnplaced: 'WAITING', ActorServes: 'SERVED', BudgetEnded: 'EXPIRED', WakeRefused: 'REFUSED', ClientLeft: 'LEFT' } },
    SERVED: { description: 'sent to the gate', type: 'final' },
    EXPIRED: { description: 'its budget ended: 503 unplaced, 504 placed', type: 'final' },
    REFUSED: { description: 'answered with the reason', type: 'final' },
    LEFT: { description: 'the client has gone', type: 'final' },
  },
})
