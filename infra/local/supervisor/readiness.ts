import { connect } from 'node:net'
import type { ReadyWhen } from './part.ts'
import { SUPERVISOR_LIMITS } from './limits.ts'
import { waitUntil } from './wait-until.ts'

const HTTP_STATUS_FAULT = 500

/** @returns the address where this line says that the part is ready, else nothing */
export function addressInLine(line: string, readyWhen: ReadyWhen): string | undefined {
  if (readyWhen.kind === 'line') return readyWhen.pattern.test(line) ? readyWhen.address : undefined
  if (readyWhen.kind === 'ready-line') return /^READY \S+ (\S+)/.exec(line)?.[1]
  return undefined
}

/** Asks from outside, for parts that print nothing. @returns the address, or nothing where the limit came first */
export async function probeFromOutside(
  readyWhen: ReadyWhen,
  limitMs: number,
  isOver: () => boolean,
): Promise<string | undefined> {
  if (readyWhen.kind !== 'tcp' && readyWhen.kind !== 'http') return undefined
  const answers = () => (readyWhen.kind === 'tcp' ? acceptsConnection(readyWhen) : answersHttp(readyWhen.url))
  const isReady = async () => isOver() || (await answers())
  const inTime = await waitUntil(isReady, limitMs, SUPERVISOR_LIMITS.readyProbeIntervalMs)
  if (!inTime || isOver()) return undefined
  return readyWhen.kind === 'tcp' ? `${readyWhen.host}:${readyWhen.port}` : readyWhen.url
}

function acceptsConnection({
  host,
  port,
}: {
  readonly host: string
  readonly port: number
}): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 1_000 })
    const end = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
    socket.once('timeout', () => end(false))
  })
}

async function answersHttp(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(1_000) })
    await response.body?.cancel()
    return response.status < HTTP_STATUS_FAULT
  } catch {
    return false
  }
}
