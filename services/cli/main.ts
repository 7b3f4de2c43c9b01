import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { busAccess, connectNats } from '@torpor/adapter-nats'
import { readSettings, systemClock, systemRandom } from '@torpor/contracts'
import { runCli } from './cli.ts'
import type { Connection } from './world.ts'

const interrupt = new AbortController()
process.once('SIGINT', () => interrupt.abort())
// The reader of a pipe that went away wants nothing more.
process.stdout.on('error', () => process.exit(0))

async function connect(url: string): Promise<Connection> {
  const access = await busAccess({ ...readSettings(process.env), TORPOR_NATS_URL: url })
  const { bus, feed, info, close } = await connectNats({ ...access, name: 'torpor' })
  return { bus, feed, serverVersion: info.serverVersion, close }
}

process.exitCode = await runCli(process.argv.slice(2), {
  connect,
  write: (words) => void process.stdout.write(words),
  writeError: (words) => void process.stderr.write(words),
  readFile: (path) => readFile(path, 'utf8'),
  readStandardInput: () => text(process.stdin),
  run: async (program, args) => (await promisify(execFile)(program, [...args])).stdout,
  environment: process.env,
  folder: process.cwd(),
  clock: systemClock,
  random: systemRandom,
  signal: interrupt.signal,
})
