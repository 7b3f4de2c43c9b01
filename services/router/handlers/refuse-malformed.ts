import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { ErrorCode } from '@torpor/contracts'
import { refuse } from '@torpor/contracts'
import { errorAnswer } from '@torpor/contracts/http'

const CODES: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
}

/** Answers what is no HTTP request, or none in time, and ends the connection: what would follow cannot be told apart. */
export function refuseMalformed(error: Error, socket: Duplex): void {
  const code = (error as NodeJS.ErrnoException).code ?? ''
  if (code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const refusal = refuse(CODES[code] ?? 'REQUEST_MALFORMED', 'request', code)
  const { status, headers, body } = errorAnswer(refusal)
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, 'connection: close']
  for (let index = 0; index + 1 < headers.length; index += 2)
    lines.push(`${headers[index]}: ${headers[index + 1]}`)
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
}
