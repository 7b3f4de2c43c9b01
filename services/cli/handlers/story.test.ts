import { describe, expect, test } from 'vitest'
import { ACTOR, NOW_MS, event, torpor, yes } from '../scripted-world.ts'

describe('the story of an actor', () => {
  test('history prints one line for each event', async () => {
    const { out } = await torpor('history actor x -a demo', {
      events: [
        event(7, 'ActorResumed', { epoch: 1, sequence: 6, phasesMs: { restore: 12.34 } }),
        event(8, 'ActorSuspendStarted', { trigger: 'caller', generation: 3, mode: 'async', drain: 'drain' }),
      ],
    })
    const lines = out.trimEnd().split('\n')
    expect(lines[0]).toMatch(/^[\d:.]{12} {2}demo\/x {2}v7 {2}ActorResumed {2}restore=12\.3ms$/)
    expect(lines[1]).toMatch(
      /v8 {2}ActorSuspendStarted {2}trigger=caller generation=3 mode=async drain=drain$/,
    )
  })

  test('watch -o json prints the event as it is', async () => {
    const resumed = event(7, 'ActorResumed', {})
    const { out } = await torpor('watch -o json', { events: [resumed] })
    expect(JSON.parse(out)).toEqual(resumed)
  })

  test('explain tells state, what is allowed, snapshots, events and what to do', async () => {
    const { out } = await torpor('explain actor x -a demo', {
      events: [event(7, 'ActorResumed', {})],
      answers: {
        GetActor: () =>
          yes({
            actor: {
              ...ACTOR,
              state: 'ACTOR_STATE_CRASHED',
              crash: { code: 'EXITED', message: 'exit 1', timeMs: NOW_MS },
            },
          }),
      },
    })
    for (const words of [
      'is ACTOR_STATE_CRASHED:',
      'EXITED: exit 1',
      /resume +refused/,
      /revert +allowed/,
      '9.5 MiB',
      'ActorResumed',
      'torpor revert actor demo/x --then-resume',
    ]) {
      expect(out).toMatch(words)
    }
  })
})
