import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { Migrator } from 'kysely/migration'
import { up as makeEntities } from './migrations/0001-entities.ts'
import { up as addChainAndJson } from './migrations/0002-chain-and-json.ts'
import type { Database } from './tables.ts'

/** By number; a published one never changes. */
const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-entities': { up: makeEntities },
  '0002-chain-and-json': { up: addChainAndJson },
}

/** Brings the tables up to date. Several may try at once: an advisory lock lets one do it and the others find it done. */
export async function migrate(database: Kysely<Database>): Promise<void> {
  const migrator = new Migrator({
    db: database,
    provider: { getMigrations: async () => ({ ...MIGRATIONS }) },
  })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
}
