import { actorState, describeReadModelLaws } from '@torpor/contracts/laws/read-model-laws'
import type { ChainPosition } from '@torpor/contracts'
import { CHAIN_START, LIMITS, actorRef, entityKey } from '@torpor/contracts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Pool } from 'pg'
import { healingPool } from './healing-pool.ts'
import type { PostgresReadModel } from './open-read-model.ts'
import { openReadModel } from './open-read-model.ts'
import type { TestPostgres } from './start-test-postgres.ts'
import { startTestPostgres } from './start-test-postgres.ts'

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await startTestPostgres()
})
afterAll(() => postgres?.stop())

const open = (): PostgresReadModel => openReadModel({ url: postgres.url, poolMax: 2 })

describeReadModelLaws('PostgreSQL', async () => {
  const model = open()
  const other = open()
  await model.migrate()
  await model.clear()
  return {
    model,
    other,
    async close() {
      await model.close()
      await other.close()
    },
  }
})

const change = (name: string) => {
  const { kind, atespace } = actorRef('demo', name)
  return { key: entityKey(actorRef('demo', name)), kind, atespace, name, state: actorState('demo', name) }
}
const FIRST: ChainPosition = { epoch: 1, frame: 1, frameprev: 'f', timeMs: 1 }
const firstPage = { atespace: '', pageSize: 10, pageToken: '' }
const unavailable = expect.objectContaining({ code: 'READ_MODEL_UNAVAILABLE' })

describe('the read model in PostgreSQL', () => {
  test('is migrated once when several begin at the same time', async () => {
    const models = Array.from({ length: 3 }, open)
    await Promise.all(models.map((model) => model.migrate()))
    expect((await models[0]?.position(0))?.frame).toBeGreaterThanOrEqual(0)
    await Promise.all(models.map((model) => model.close()))
  })

  test('writes more rows in one frame than one statement takes', async () => {
    const model = open()
    await model.clear()
    const changes = Array.from({ length: 4_500 }, (_, index) => change(`n${index}`))
    expect(await model.apply(0, CHAIN_START, FIRST, changes)).toBe(true)
    let rows = 0
    for (let pageToken = '', more = true; more; more = pageToken !== '') {
      const reply = await model.list('actor', { ...firstPage, pageSize: LIMITS.listPageSizeMax, pageToken })
      rows += reply.items.length
      pageToken = reply.nextPageToken
    }
    expect(rows).toBe(4_500)
    await model.close()
  })

  test('says READ_MODEL_UNAVAILABLE while the database is gone, and is whole again when it is back', async () => {
    const model = open()
    await model.clear()
    await model.apply(0, CHAIN_START, FIRST, [change('a')])
    await postgres.kill()
    await expect(model.list('actor', firstPage)).rejects.toThrow(unavailable)
    await expect(model.apply(0, FIRST, { ...FIRST, frame: 2 }, [])).rejects.toThrow(unavailable)
    await expect(model.migrate()).rejects.toThrow(unavailable)
    await postgres.restart()
    await model.migrate()
    const position = await model.position(0)
    expect((await model.list('actor', firstPage)).items).toHaveLength(position.frame)
    expect(await model.apply(0, position, { ...FIRST, frame: 5 }, [change('b')])).toBe(true)
    await model.close()
  })

  test('outlives the end of a connection that is held between two queries', async () => {
    const pool = new Pool({ connectionString: postgres.url, max: 1 })
    const ended = new Promise<void>((resolve) =>
      pool.once('connect', (client) => client.once('end', () => resolve())),
    )
    const held = await healingPool(pool).connect()
    await held.query('SELECT 1', [])
    await postgres.kill()
    await ended
    await expect(held.query('SELECT 1', [])).rejects.toThrow()
    held.release()
    await postgres.restart()
    expect((await pool.query('SELECT 1')).rowCount).toBe(1)
    await pool.end()
  })
})
