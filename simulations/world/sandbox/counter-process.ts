import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'

/** What the demo counter keeps: in memory, in a durable directory, on its root file system. */
export type CounterState = {
  memoryCount: number
  fileCount: number
  rootfsCount: number
  /** Answers by idempotency key: the same key again counts nothing. */
  readonly answers: Record<string, string>
}

export const newCounter = (): CounterState => ({ memoryCount: 0, fileCount: 0, rootfsCount: 0, answers: {} })

/** A process of the simulation: the demo counter behind a real listener. */
export type CounterProcess = {
  readonly state: CounterState
  /** Stops the listener and cuts what is open. */
  stop(): Promise<void>
  setPaused(paused: boolean): void
}

export type CounterEvents = {
  /** The process ended by itself. */
  onExit(exitCode: number): void
  log(line: string): void
}

const ANSWERS_MAX = 1_000

/** Listens on `ipAddress:port` and counts. `silent` accepts and never answers. */
export async function startCounter(
  state: CounterState,
  place: { readonly ipAddress: string; readonly port: number; readonly silent: boolean },
  events: CounterEvents,
): Promise<CounterProcess> {
  const waiting: (() => void)[] = []
  let paused = false
  const server = createServer((request, response) => {
    if (place.silent) return
    if (paused) waiting.push(() => serve(state, request, response, events))
    else serve(state, request, response, events)
  })
  await listen(server, place.port, place.ipAddress)
  events.log(`listening on ${place.port}`)
  return {
    state,
    stop: () => stopServer(server),
    setPaused(value) {
      paused = value
      if (!paused) for (const go of waiting.splice(0)) go()
    },
  }
}

function serve(
  state: CounterState,
  request: IncomingMessage,
  response: ServerResponse,
  events: CounterEvents,
) {
  const url = new URL(request.url ?? '/', 'http://counter')
  request.resume()
  if (url.pathname === '/healthz') return response.end('ok\n')
  if (url.pathname === '/exit') {
    response.end('bye\n')
    events.log('asked to exit')
    return events.onExit(Number(url.searchParams.get('code') ?? '0'))
  }
  const slowMs = Number(url.searchParams.get('slow-ms') ?? '0')
  const key = request.headers['idempotency-key']
  const reply = (): unknown => response.end(count(state, typeof key === 'string' ? key : undefined, events))
  if (slowMs > 0) return setTimeout(reply, slowMs)
  return reply()
}

function count(state: CounterState, key: string | undefined, events: CounterEvents): string {
  const known = key === undefined ? undefined : state.answers[key]
  if (known !== undefined) return known
  state.memoryCount += 1
  state.fileCount += 1
  state.rootfsCount += 1
  const text = `memory count: ${state.memoryCount} | file count: ${state.fileCount} | rootfs count: ${state.rootfsCount}\n`
  events.log(text.trim())
  if (key !== undefined) remember(state.answers, key, text)
  return text
}

function remember(answers: Record<string, string>, key: string, text: string): void {
  const keys = Object.keys(answers)
  if (keys.length >= ANSWERS_MAX && keys[0] !== undefined) delete answers[keys[0]]
  answers[key] = text
}

const listen = (server: Server, port: number, ipAddress: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, ipAddress, () => {
      server.off('error', reject)
      resolve()
    })
  })

function stopServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
