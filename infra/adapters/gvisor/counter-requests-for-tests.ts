/** Requests to the counter, as tests make them. */
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

/** The counter's answer, as soon as it listens. */
export async function answer(ipAddress: string): Promise<string> {
  const deadline = performance.now() + 15_000
  for (;;) {
    const text = await request(ipAddress, '/').catch(() => undefined)
    if (text !== undefined) return text
    if (performance.now() > deadline) throw new Error(`${ipAddress} does not answer`)
    await pause(5)
  }
}

export async function request(ipAddress: string, path: string, timeoutMs = 5_000): Promise<string> {
  const headers = { connection: 'close' }
  const signal = AbortSignal.timeout(timeoutMs)
  const response = await fetch(`http://${ipAddress}:8080${path}`, { headers, signal })
  return (await response.text()).trim()
}

/** A connection that has had an answer and stays open. */
export function keptAlive(ipAddress: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: ipAddress, port: 8080 })
    socket.on('error', reject)
    socket.on('connect', () => socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n'))
    socket.once('data', () => {
      socket.on('error', () => undefined)
      resolve(socket)
    })
  })
}
