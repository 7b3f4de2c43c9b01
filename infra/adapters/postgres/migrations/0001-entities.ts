import type { Kysely } from 'kysely'
import { sql } from 'kysely'

const ENTITY_TABLES = ['actors', 'actor_templates', 'worker_pools', 'atespaces', 'nodes']

/**
 * One table a kind, and the positions. Names sort by bytes, as the order of pages needs. Only the primary key is indexed,
 * and a fifth of each page stays free, so that a change of a row touches no index.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  for (const table of ENTITY_TABLES) {
    await sql`
      create table ${sql.table(table)} (
        atespace text collate "C" not null,
        name text collate "C" not null,
        uid text not null,
        state_name text not null,
        template text not null,
        node text not null,
        version bigint not null,
        create_time_ms bigint not null,
        update_time_ms bigint not null,
        hidden boolean not null,
        state jsonb not null,
        primary key (atespace, name)
      ) with (fillfactor = 80)`.execute(database)
  }
  await sql`create table positions (shard integer primary key, sequence bigint not null)`.execute(database)
}
