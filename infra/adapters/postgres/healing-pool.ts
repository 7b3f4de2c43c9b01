import type { PostgresPool, PostgresPoolClient } from 'kysely'
import type { Pool, PoolClient } from 'pg'
import { isWrongStatement } from './faults.ts'

/**
 * A pool that heals: a connection on which anything failed but a wrong statement is closed, not given back. A query that
 * ran out of time would otherwise leave its answer to the next user of the connection.
 */
export function healingPool(pool: Pool): PostgresPool {
  // An idle connection that breaks is taken out by the pool; without a listener it would end the process.
  pool.on('error', () => undefined)
  return {
    connect: async () => healingClient(await pool.connect()),
    end: () => pool.end(),
    options: pool.options,
  }
}

function healingClient(client: PoolClient): PostgresPoolClient {
  let broken = false
  // A connection that ends while it is held, but between two queries, says so by this event alone.
  const breaks = (): void => {
    broken = true
  }
  client.on('error', breaks)
  const run = async (...args: unknown[]): Promise<unknown> => {
    try {
      return await (client.query as (...args: unknown[]) => Promise<unknown>).apply(client, args)
    } catch (cause) {
      broken ||= !isWrongStatement(cause)
      throw cause
    }
  }
  return {
    query: run as PostgresPoolClient['query'],
    release: () => {
      client.off('error', breaks)
      client.release(broken)
    },
  }
}
