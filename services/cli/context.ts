import type { TorporClient } from '@torpor/sdk'
import { createClient } from '@torpor/sdk'
import type { Command } from 'commander'
import type { Server } from './config.ts'
import { findServer } from './config.ts'
import type { Connection, World } from './world.ts'

export type OutputFormat = 'table' | 'json' | 'yaml'

/** Options that every verb takes. */
export type GlobalOptions = { readonly server?: string; readonly output: OutputFormat }

/** What a handler works with. */
export type Context = {
  readonly world: World
  options(command: Command): GlobalOptions
  server(command: Command): Promise<Server>
  /** Of the one connection: made at the first call, closed when the command line is done. */
  client(command: Command): Promise<TorporClient>
  connection(command: Command): Promise<Connection>
  close(): Promise<void>
}

export function createContext(world: World): Context {
  const open: { connection?: Promise<Connection> } = {}
  const options = (command: Command): GlobalOptions => command.optsWithGlobals<GlobalOptions>()
  const server = (command: Command): Promise<Server> => findServer(world, options(command).server)
  const connect = (command: Command): Promise<Connection> =>
    (open.connection ??= server(command).then(({ url }) => world.connect(url)))
  return {
    world,
    options,
    server,
    async client(command) {
      const { bus, feed } = await connect(command)
      const { clock, random } = world
      return createClient({ bus, feed, clock, random, identity: { name: 'torpor' } })
    },
    connection: connect,
    async close() {
      const connection = await open.connection?.catch(() => undefined)
      await connection?.close()
    },
  }
}
