import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { choosePort } from './choose-port.ts'

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

test('a port that another part was given already counts as taken', async () => {
  const { server, port } = await occupy()
  server.close()
  await once(server, 'close')
  expect((await choosePort('gate', port, new Set([port]))).port).toBeGreaterThan(port)
})
