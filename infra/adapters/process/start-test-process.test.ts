import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { TestProgram } from './start-test-process.ts'
import { accepts, startTestProcess } from './start-test-process.ts'

const listening: TestProgram = {
  name: 'listening',
  prepare: async ({ port }) => ({
    file: process.execPath,
    args: [
      '-e',
      `require('node:net').createServer((socket) => socket.end('HELLO')).listen(${port}, '127.0.0.1')`,
    ],
  }),
  isReady: ({ port }) => accepts(port, 'HELLO'),
}

test('answers when it is there, can be killed and started again on its port, and leaves nothing', async () => {
  const server = await startTestProcess(listening)
  const first = server.pid()
  await server.kill()
  expect(await accepts(server.port)).toBe(false)
  expect(existsSync(server.folder)).toBe(true)
  await server.restart()
  expect(await accepts(server.port, 'HELLO')).toBe(true)
  expect(server.pid()).not.toBe(first)
  await server.stop()
  expect(await accepts(server.port)).toBe(false)
  expect(existsSync(server.folder)).toBe(false)
})

test('a program that ends before it is ready is an error that holds what it said, and leaves nothing', async () => {
  let folder = ''
  const ending: TestProgram = {
    ...listening,
    async prepare(place) {
      folder = place.folder
      return { file: process.execPath, args: ['-e', 'console.error("no room"); process.exitCode = 3'] }
    },
  }
  await expect(startTestProcess(ending)).rejects.toThrow(/^listening ended before it was ready\nno room\n$/)
  expect(existsSync(folder)).toBe(false)
})

test('a program that is not there is an error that names it', async () => {
  const missing: TestProgram = { ...listening, prepare: async () => ({ file: '/no/such/program', args: [] }) }
  await expect(startTestProcess(missing)).rejects.toThrow('/no/such/program')
})
