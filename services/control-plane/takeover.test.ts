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

describe('a control plane is killed in the midst of a verb, and the next owner finishes it', () => {
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
  const born = async (): Promise<ActorHandle> => {
    const handle = system.client.actor('demo', `actor-${(actors += 1)}`)
    await handle.create({ template: 'counter' })
    return handle
  }
  const counting = async (): Promise<ActorHandle> => {
    const handle = await born()
    await system.call(await handle.resume())
    return handle
  }
  const counts = async (handle: ActorHandle): Promise<string> => system.call(await handle.resume())

  test.each(
    [
      taken('Prepare'),
      after('ActorResumeStarted'),
      taken('Go'),
      before('ActorResumed'),
      after('ActorResumed'),
    ].map((moment) => [nameOf(moment), moment] as const),
  )('resume, %s', async (_, moment) => {
    const handle = await born()
    const awake = await killedAt(moment, handle.ref.name, () => handle.resume())
    expect(awake.state).toBe('ACTOR_STATE_RUNNING')
    expect(await system.call(awake)).toBe('memory count: 1 | file count: 1 | rootfs count: 1')
  })

  test.each(
    [
      ['async', after('ActorSuspendStarted')],
      ['async', taken('Checkpoint')],
      ['async', before('ActorSuspended')],
      ['async', after('ActorSuspended')],
      ['sync', before('ActorCheckpointed')],
      ['sync', after('ActorCheckpointed')],
      ['sync', taken('Upload')],
      ['sync', before('ActorSuspended')],
    ].map(
      ([mode, moment]) => [mode as 'async' | 'sync', nameOf(moment as Moment), moment as Moment] as const,
    ),
  )('%s suspend, %s', async (mode, _, moment) => {
    const handle = await counting()
    const asleep = await killedAt(moment, handle.ref.name, () => handle.suspend({ mode }))
    expect(asleep.state).toBe('ACTOR_STATE_SUSPENDED')
    expect(Math.max(...asleep.snapshots.map(({ generation }) => generation))).toBe(2)
    expect(await counts(handle)).toMatch(/memory count: 2 /)
  })

  test.each(
    [after('ActorRevertStarted'), taken('Terminate'), before('ActorReverted'), after('ActorReverted')].map(
      (moment) => [nameOf(moment), moment] as const,
    ),
  )('revert then resume, %s', async (_, moment) => {
    const handle = await counting()
    await killedAt(moment, handle.ref.name, () => handle.revert({ thenResume: true }))
    const awake = await system.until(handle.ref.name, (actor: Actor) => actor.state === 'ACTOR_STATE_RUNNING')
    expect(await system.call(awake)).toMatch(/memory count: 1 /)
  })

  test.each(
    [
      after('ActorDeleteStarted'),
      taken('Terminate'),
      before('ActorExited'),
      taken('CollectSnapshot'),
      before('ActorDeleted'),
    ].map((moment) => [nameOf(moment), moment] as const),
  )('delete, %s', async (_, moment) => {
    const handle = await counting()
    await handle.suspend({ mode: 'sync' })
    const { uid } = await handle.resume()
    await killedAt(moment, handle.ref.name, () => handle.delete({ anyState: true }))
    await expect(handle.get()).rejects.toMatchObject({ code: 'ACTOR_GONE' })
    expect((await system.runtime.list()).map(({ sandboxId }) => sandboxId)).not.toContain(uid)
  })

  test.each(
    [
      ['torpor-golden', before('ActorCreated')],
      ['torpor-golden', taken('Prepare')],
      ['torpor-golden', after('ActorResumeStarted')],
      ['torpor-golden', taken('Go')],
      ['torpor-golden', after('ActorSuspendStarted')],
      ['torpor-golden', after('ActorSuspended')],
      ['demo', before('GoldenSnapshotTaken')],
    ].map(([about, moment]) => [nameOf(moment as Moment), about as string, moment as Moment] as const),
  )('a golden snapshot, %s', async (_, about, moment) => {
    const name = `template-${(actors += 1)}`
    const metadata = { atespace: 'demo', name }
    const document = { apiVersion: 'torpor.dev/v1', kind: 'ActorTemplate', metadata, spec: COUNTER_SPEC }
    const ready = async () => {
      await system.client.apply(document as never)
      return condition('the golden snapshot', async () => {
        const { golden } = await system.client.template('demo', name).get()
        return golden.phase === 'PENDING' ? undefined : golden
      })
    }
    const golden = await killedAt(moment, about, ready)
    expect(golden).toMatchObject({ phase: 'READY' })
  })
})
