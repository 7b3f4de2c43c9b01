import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { choosePort } from './choose-port.ts'
import { portClaims } from './port-claims.ts'

const occupy = async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, port: (server.address() as AddressInfo).port }
}

test('a free port is given without a word', async () => {
  const { server, port } = await occupy()
  server.close()
  await once(server, 'close')
  expect(await choosePort('router', port)).toEqual({ port })
})

test('a taken port is replaced by a later one, and the notice names both', async () => {
  const { server, port } = await occupy()
  const chosen = await choosePort('router', port)
  server.close()
  expect(chosen.port).toBeGreaterThan(port)
  expect(chosen.notice).toBe(`port ${port} is taken: router uses ${chosen.port}`)
})

test('a port that another stack chose and has not bound yet counts as taken, until its process is dead', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'torpor-ports-'))
  const { server, port } = await occupy()
  server.close()
  await once(server, 'close')
  const [mine, theirs] = [portClaims(folder), portClaims(folder)]
  expect((await choosePort('gate', port, mine.claim)).port).toBe(port)
  expect((await choosePort('gate', port, theirs.claim)).port).toBeGreaterThan(port)
  mine.releaseAll()
  expect((await choosePort('gate', port, theirs.claim)).port).toBe(port)
  theirs.releaseAll()
  mkdirSync(path.join(folder, String(port)))
  writeFileSync(path.join(folder, String(port), 'lock'), JSON.stringify({ pid: process.pid, startedAt: '0' }))
  expect((await choosePort('gate', port, mine.claim)).port).toBe(port)
  rmSync(folder, { recursive: true })
})
