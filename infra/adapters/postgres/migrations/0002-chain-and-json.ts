import type { Kysely } from 'kysely'
import { sql } from 'kysely'

const ENTITY_TABLES = ['actors', 'actor_templates', 'worker_pools', 'atespaces', 'nodes']

/**
 * Positions carry the chain: a reader that begins in the middle must know the highest epoch before it, or it takes frames of
 * fenced owners for good, and the digest of the last frame, or it cannot tell a broken chain.
 *
 * States are `json`, not `jsonb`: they are written often and read whole, and `json` is kept as it came. They stay in the row
 * up to a page: moving and compressing each of them cost more than everything else.
 *
 * What was folded without this is built anew from the log.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  for (const table of ENTITY_TABLES) {
    await sql`truncate ${sql.table(table)}`.execute(database)
    await sql`alter table ${sql.table(table)} alter column state type json using state::json`.execute(
      database,
    )
    await sql`alter table ${sql.table(table)} set (toast_tuple_target = 8160)`.execute(database)
  }
  await sql`drop table positions`.execute(database)
  await sql`
    create table positions (
      shard integer primary key,
      epoch bigint not null,
      frame bigint not null,
      frameprev text not null,
      time_ms bigint not null
    )`.execute(database)
}
