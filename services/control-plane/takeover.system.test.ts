import type { Actor } from '@torpor/contracts'
import type { ActorHandle } from '@torpor/sdk'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { CutPoint } from './testing/cut-off.ts'
import { COUNTER_SPEC, QUICK, condition, startTestSystem } from './testing/system.ts'
import type { TestPlane, TestSystem } from './testing/system.ts'

type Moment = CutPoint extends infer Point ? (Point extends CutPoint ? Omit<Point, 'about'> : never) : never

const before = (event: Extract<CutPoint, { event: unknown }>['event']): Moment => ({ when: 'before', event })
const after = (event: Extract<CutPoint, { event: unknown }>['event']): Moment => ({ when: 'after', event })
const taken = (nodeCommand: Extract<CutPoint, { nodeCommand: unknown }>['nodeCommand']): Moment => ({
  when: 'after',
  nodeCommand,
})

const nameOf = (moment: Moment): string =>
  `${moment.when} ${'event' in moment ? `the commit of ${moment.event}` : `the node took ${moment.nodeCommand}`}`

/** A system of its own for each verb, so that their waits for leases and for second askings pass side by side. */
function useSystem() {
  let system: TestSystem
  let plane: TestPlane
  let planes = 1
  let actors = 0
  beforeAll(async () => {
    system = await startTestSystem(QUICK)
    plane = system.plane
    await system.makeTemplate()
  })
  afterAll(() => system?.close())
  afterEach(() =>
    system.client
      .actor('demo', `actor-${actors}`)
      .delete({ anyState: true })
      .catch(() => undefined),
  )

  /** Runs the verb while the control plane is cut off at the moment, and starts the next one. */
  const killedAt = async <Result>(
    moment: Moment,
    about: string,
    verb: () => Promise<Result>,
  ): Promise<Result> => {
    const cut = plane.cutAt({ ...moment, about })
    const end = verb()
    end.catch(() => undefined)
    await Promise.race([
      cut,
      end.then(() => {
        throw new Error(`the verb ended, and nothing was ever ${nameOf(moment)}`)
      }),
    ])
    planes += 1
    plane = await system.startPlane(`plane-${planes}`)
    return end
  }
  const nextName = (): string => `actor-${(actors += 1)}`
  const born = async (): Promise<ActorHandle> => {
    const handle = system.client.actor('demo', nextName())
    await handle.create({ template: 'counter' })
    return handle
  }
  const counting = async (): Promise<ActorHandle> => {
    const handle = await born()
    await system.call(await handle.resume())
    return handle
  }
  const counts = async (handle: ActorHandle): Promise<string> => system.call(await handle.resume())

  return { system: () => system, killedAt, born, counting, counts, nextName }
}

/** Within one verb the cases come after each other: each leaves its system to the next. */
const ONE_BY_ONE = { concurrent: false }

describe.concurrent('a control plane is killed in the midst of a verb, and the next owner finishes it', () => {
  describe('resume', () => {
    const { system, born, killedAt } = useSystem()
    test.each(
      [
        taken('Prepare'),
        after('ActorResumeStarted'),
        taken('Go'),
        before('ActorResumed'),
        after('ActorResumed'),
      ].map((moment) => [nameOf(moment), moment] as const),
    )('%s', ONE_BY_ONE, async (_, moment) => {
      const handle = await born()
      const awake = await killedAt(moment, handle.ref.name, () => handle.resume())
      expect(awake.state).toBe('ACTOR_STATE_RUNNING')
      expect(await system().call(awake)).toBe('memory count: 1 | file count: 1 | rootfs count: 1')
    })
  })

  describe.each([
    [
      'async',
      [after('ActorSuspendStarted'), taken('Checkpoint'), before('ActorSuspended'), after('ActorSuspended')],
    ],
    [
      'sync',
      [before('ActorCheckpointed'), after('ActorCheckpointed'), taken('Upload'), before('ActorSuspended')],
    ],
  ] as const)('%s suspend', (mode, moments) => {
    const { counting, counts, killedAt } = useSystem()
    test.each(moments.map((moment) => [nameOf(moment), moment] as const))(
      '%s',
      ONE_BY_ONE,
      async (_, moment) => {
        const handle = await counting()
        const asleep = await killedAt(moment, handle.ref.name, () => handle.suspend({ mode }))
        expect(asleep.state).toBe('ACTOR_STATE_SUSPENDED')
        expect(Math.max(...asleep.snapshots.map(({ generation }) => generation))).toBe(2)
        expect(await counts(handle)).toMatch(/memory count: 2 /)
      },
    )
  })

  describe('revert then resume', () => {
    const { system, counting, killedAt } = useSystem()
    test.each(
      [after('ActorRevertStarted'), taken('Terminate'), before('ActorReverted'), after('ActorReverted')].map(
        (moment) => [nameOf(moment), moment] as const,
      ),
    )('%s', ONE_BY_ONE, async (_, moment) => {
      const handle = await counting()
      await killedAt(moment, handle.ref.name, () => handle.revert({ thenResume: true }))
      const isRunning = (actor: Actor): boolean => actor.state === 'ACTOR_STATE_RUNNING'
      const awake = await system().until(handle.ref.name, isRunning)
      expect(await system().call(awake)).toMatch(/memory count: 1 /)
    })
  })

  describe('delete', () => {
    const { system, counting, killedAt } = useSystem()
    test.each(
      [
        after('ActorDeleteStarted'),
        taken('Terminate'),
        before('ActorExited'),
        taken('CollectSnapshot'),
        before('ActorDeleted'),
      ].map((moment) => [nameOf(moment), moment] as const),
    )('%s', ONE_BY_ONE, async (_, moment) => {
      const handle = await counting()
      await handle.suspend({ mode: 'sync' })
      const { uid } = await handle.resume()
      await killedAt(moment, handle.ref.name, () => handle.delete({ anyState: true }))
      await expect(handle.get()).rejects.toMatchObject({ code: 'ACTOR_GONE' })
      expect((await system().runtime.list()).map(({ sandboxId }) => sandboxId)).not.toContain(uid)
    })
  })

  describe('a golden snapshot', () => {
    const { system, nextName, killedAt } = useSystem()
    const cases: readonly (readonly [about: string, Moment])[] = [
      ['torpor-golden', before('ActorCreated')],
      ['torpor-golden', taken('Prepare')],
      ['torpor-golden', after('ActorResumeStarted')],
      ['torpor-golden', taken('Go')],
      ['torpor-golden', after('ActorSuspendStarted')],
      ['torpor-golden', after('ActorSuspended')],
      ['demo', before('GoldenSnapshotTaken')],
    ]
    test.each(cases.map(([about, moment]) => [nameOf(moment), about, moment] as const))(
      '%s',
      ONE_BY_ONE,
      async (_, about, moment) => {
        const name = `template-of-${nextName()}`
        const metadata = { atespace: 'demo', name }
        const document = { apiVersion: 'torpor.dev/v1', kind: 'ActorTemplate', metadata, spec: COUNTER_SPEC }
        const ready = async () => {
          await system().client.apply(document as never)
          return condition('the golden snapshot', async () => {
            const { golden } = await system().client.template('demo', name).get()
            return golden.phase === 'PENDING' ? undefined : golden
          })
        }
        const golden = await killedAt(moment, about, ready)
        expect(golden).toMatchObject({ phase: 'READY' })
      },
    )
  })
})
