import type { Kysely } from 'kysely'
import { sql } from 'kysely'

/**
 * A reader that begins in the middle must know the highest epoch before it, or it takes frames of fenced owners for good, and
 * the digest of the last frame, or it cannot tell a broken chain. What was folded without them is built anew from the log.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`truncate actors, actor_templates, worker_pools, atespaces, nodes`.execute(database)
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
