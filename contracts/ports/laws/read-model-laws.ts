import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../limits.ts'
import { sha256Hex } from '../../cloud-event.ts'
import type { ChainPosition } from '../../frame-chain.ts'
import { CHAIN_START } from '../../frame-chain.ts'
import type { ListRequest } from '../../messages/commands.ts'
import { actorRef, atespaceRef, entityKey } from '../../names.ts'
import type { Actor } from '../../resources/actor.ts'
import { actorTemplateSpecSchema } from '../../resources/actor-template.ts'
import type { ReadModel, ReadModelChange } from '../read-model.ts'

/** A fresh, empty read model, as every law begins with one. */
export type ReadModelUnderLaw = {
  readonly model: ReadModel
  /** The same read model as another process sees it. */
  readonly other: ReadModel
  close(): Promise<void>
}

const SPEC = actorTemplateSpecSchema.parse({
  sandboxClasses: [{ name: 'gvisor' }],
  containers: [{ name: 'main', image: 'oci:counter:latest' }],
})

/** An actor as a fold would give it. */
export const actorState = (atespace: string, name: string, more: Partial<Actor> = {}): Actor => ({
  uid: `uid-${atespace}-${name}`,
  atespace,
  name,
  state: 'ACTOR_STATE_SUSPENDED',
  phase: '',
  version: 1,
  createTimeMs: 1_790_000_000_000,
  updateTimeMs: 1_790_000_000_000,
  template: { atespace, name: 'counter', uid: 'uid-template' },
  spec: SPEC,
  snapshots: [],
  lastAssignedGeneration: 0,
  assignedNode: '',
  collect: [],
  timers: [],
  golden: false,
  ...more,
})

/** A place in a chain, as a reader of it would carry it after so many frames. */
const at = (frame: number): ChainPosition =>
  frame === 0
    ? CHAIN_START
    : {
        epoch: 1 + Math.floor(frame / 2),
        frame,
        frameprev: sha256Hex(String(frame)),
        timeMs: 1_790_000_000_000 + frame,
      }

const put = (actor: Actor): ReadModelChange => ({
  key: entityKey(actorRef(actor.atespace, actor.name)),
  kind: 'actor',
  atespace: actor.atespace,
  name: actor.name,
  state: actor,
})

const remove = (atespace: string, name: string): ReadModelChange => ({
  ...put(actorState(atespace, name)),
  state: undefined,
})

const page = (request: Partial<ListRequest> = {}): ListRequest => ({
  atespace: '',
  pageSize: LIMITS.listPageSizeDefault,
  pageToken: '',
  ...request,
})

const namesOf = (items: readonly unknown[]): string[] =>
  (items as readonly Actor[]).map(({ atespace, name }) => `${atespace}/${name}`)

async function allPages(model: ReadModel, pageSize: number, atespace = ''): Promise<readonly string[][]> {
  const pages: string[][] = []
  let pageToken = ''
  do {
    const reply = await model.list('actor', page({ atespace, pageSize, pageToken }))
    pages.push(namesOf(reply.items))
    pageToken = reply.nextPageToken
    expect(pageToken.length).toBeLessThanOrEqual(256)
  } while (pageToken !== '')
  return pages
}

/** What every read model must keep. */
export function describeReadModelLaws(name: string, makeModel: () => Promise<ReadModelUnderLaw>): void {
  describe(`the laws of a read model: ${name}`, () => {
    let made: ReadModelUnderLaw
    beforeEach(async () => {
      made = await makeModel()
    })
    afterEach(async () => {
      await made.close()
    })
    describePositions(() => made)
    describeRows(() => made)
    describe('pages', () => describePages(() => made.model))
  })
}

function describePositions(made: () => ReadModelUnderLaw): void {
  test('an empty one is at the start for every shard', async () => {
    expect(await made().model.position(0)).toEqual(at(0))
    expect(await made().model.position(7)).toEqual(at(0))
  })
  test('rows and position move together, for others too', async () => {
    expect(await made().model.apply(0, at(0), at(3), [put(actorState('demo', 'a'))])).toBe(true)
    expect(await made().other.position(0)).toEqual(at(3))
    expect(namesOf((await made().other.list('actor', page())).items)).toEqual(['demo/a'])
  })
  test('an apply from another position than the one it stands at writes nothing', async () => {
    await made().model.apply(0, at(0), at(3), [])
    for (const after of [0, 2, 4]) {
      expect(await made().model.apply(0, at(after), at(9), [put(actorState('demo', 'a'))])).toBe(false)
    }
    expect(await made().model.position(0)).toEqual(at(3))
    expect((await made().model.list('actor', page())).items).toEqual([])
  })
  test('of several that apply from one position at once, one wins', async () => {
    const { model, other } = made()
    const won = await Promise.all([
      model.apply(0, at(0), at(1), [put(actorState('demo', 'a', { version: 1 }))]),
      other.apply(0, at(0), at(2), [put(actorState('demo', 'a', { version: 2 }))]),
      model.apply(0, at(0), at(3), [put(actorState('demo', 'a', { version: 3 }))]),
    ])
    expect(won.filter(Boolean)).toHaveLength(1)
    const [actor] = (await model.list('actor', page())).items as Actor[]
    expect(actor?.version).toBe((await model.position(0)).frame)
  })
  test('shards do not know of each other', async () => {
    expect(await made().model.apply(1, at(0), at(5), [])).toBe(true)
    expect(await made().model.apply(0, at(0), at(2), [])).toBe(true)
    expect([await made().model.position(0), await made().model.position(1)]).toEqual([at(2), at(5)])
  })
  test('clear leaves an empty one', async () => {
    await made().model.apply(0, at(0), at(3), [put(actorState('demo', 'a'))])
    await made().model.clear()
    expect(await made().model.position(0)).toEqual(at(0))
    expect((await made().model.list('actor', page())).items).toEqual([])
  })
}

function describeRows(made: () => ReadModelUnderLaw): void {
  test('a state comes back as it went in, by list and by key', async () => {
    const actor = actorState('demo', 'a', {
      phase: 'quotes " and \\ and {braces}, ünïcode',
      version: 2 ** 40,
    })
    await made().model.apply(0, at(0), at(1), [put(actor)])
    expect((await made().model.list('actor', page())).items).toEqual([actor])
    const key = entityKey(actorRef('demo', 'a'))
    expect(await made().model.read('actor', [key, entityKey(actorRef('demo', 'b'))])).toEqual(
      new Map([[key, actor]]),
    )
  })
  test('a later state replaces the earlier one, and an end removes it', async () => {
    const { model } = made()
    await model.apply(0, at(0), at(1), [put(actorState('demo', 'a')), put(actorState('demo', 'b'))])
    await model.apply(0, at(1), at(2), [put(actorState('demo', 'a', { version: 2 })), remove('demo', 'b')])
    expect((await model.list('actor', page())).items).toEqual([actorState('demo', 'a', { version: 2 })])
    await model.apply(0, at(2), at(3), [remove('demo', 'nobody')])
    expect(await model.position(0)).toEqual(at(3))
  })
  test('kinds are lists of their own', async () => {
    const atespace = { uid: 'u', name: 'demo', version: 1, createTimeMs: 1 }
    const ref = atespaceRef('demo')
    await made().model.apply(0, at(0), at(1), [
      put(actorState('demo', 'a')),
      { key: entityKey(ref), kind: ref.kind, atespace: ref.atespace, name: ref.name, state: atespace },
    ])
    expect((await made().model.list('atespace', page())).items).toEqual([atespace])
    expect(namesOf((await made().model.list('actor', page())).items)).toEqual(['demo/a'])
  })
  test('a hidden golden actor is in no list, but there for its fold', async () => {
    await made().model.apply(0, at(0), at(1), [
      put(actorState('demo', 'golden', { golden: true })),
      put(actorState('demo', 'a')),
    ])
    expect(namesOf((await made().model.list('actor', page())).items)).toEqual(['demo/a'])
    expect((await made().model.read('actor', [entityKey(actorRef('demo', 'golden'))])).size).toBe(1)
  })
}

function describePages(model: () => ReadModel): void {
  const names = ['b/a', 'a/b-1', 'a/b', 'a/b0', 'c/z', 'a/ab']
  const inOrder = ['a/ab', 'a/b', 'a/b-1', 'a/b0', 'b/a', 'c/z']
  beforeEach(async () => {
    const actors = names
      .map((name) => name.split('/'))
      .map(([space = '', name = '']) => put(actorState(space, name)))
    await model().apply(0, at(0), at(1), actors)
  })
  test.each([1, 2, 4, 6, 7])(
    'pages of %i hold every item once, by bytes of atespace, then name',
    async (size) => {
      const pages = await allPages(model(), size)
      expect(pages.flat()).toEqual(inOrder)
      expect(Math.max(...pages.map(({ length }) => length))).toBeLessThanOrEqual(size)
      expect(pages).toHaveLength(Math.ceil(inOrder.length / size))
    },
  )
  test('of one atespace hold that one', async () => {
    expect((await allPages(model(), 2, 'a')).flat()).toEqual(inOrder.slice(0, 4))
    expect((await allPages(model(), 2, 'nobody')).flat()).toEqual([])
  })
  test('an item that is removed between two pages moves no other', async () => {
    const first = await model().list('actor', page({ pageSize: 2 }))
    await model().apply(0, at(1), at(2), [remove('a', 'b')])
    const second = await model().list('actor', page({ pageSize: 4, pageToken: first.nextPageToken }))
    expect(namesOf(second.items)).toEqual(inOrder.slice(2))
  })
  test('a token that no page gave out is refused', async () => {
    for (const pageToken of ['x', 'YS9i!', Buffer.from('no-slash').toString('base64url')]) {
      await expect(model().list('actor', page({ pageToken }))).rejects.toThrow(
        expect.objectContaining({ code: 'COMMAND_MALFORMED' }),
      )
    }
  })
}
