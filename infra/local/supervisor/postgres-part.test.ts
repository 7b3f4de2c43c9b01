import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Client } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { choosePort } from './choose-port.ts'
import { postgresPart } from './postgres-part.ts'
import { openSupervisor, type Supervisor } from './supervisor.ts'
import { waitUntil } from './wait-until.ts'

const WAIT_MS = 60_000
const FIRST_PORT = 15_432

let dataFolder = ''
let supervisor: Supervisor

beforeEach(async () => {
  dataFolder = mkdtempSync(path.join(tmpdir(), 'torpor-postgres-'))
  supervisor = await openSupervisor({ dataFolder })
})

afterEach(async () => {
  await supervisor.stop()
  rmSync(dataFolder, { recursive: true, force: true })
})

const start = async (): Promise<string> => {
  const { port } = await choosePort('postgres', FIRST_PORT)
  const { part, url } = await postgresPart({ folder: path.join(dataFolder, 'postgres'), port })
  await supervisor.startPart(part)
  return url
}

const query = async (connectionString: string, text: string): Promise<readonly unknown[]> => {
  const client = new Client({ connectionString })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

test('rows that were committed before a SIGKILL are there after it, and after a stop in order', async () => {
  const url = await start()
  await query(url, 'create table kept (id int); insert into kept values (1), (2)')
  supervisor.killPart('postgres')
  const isBack = () => supervisor.status()[0]?.state === 'ready' && (supervisor.status()[0]?.starts ?? 0) > 1
  expect(await waitUntil(isBack, WAIT_MS)).toBe(true)
  expect(await query(url, 'select id from kept order by id')).toEqual([{ id: 1 }, { id: 2 }])

  await supervisor.stopPart('postgres')
  expect(await query(await start(), 'select count(*)::int as rows from kept')).toEqual([{ rows: 2 }])
})

test('nobody comes in without the password', async () => {
  const url = new URL(await start())
  url.password = 'guessed'
  await expect(query(url.href, 'select 1')).rejects.toThrow(/password authentication failed/)
})
