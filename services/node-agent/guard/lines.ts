import type { Socket } from 'node:net'

/** What agent and guard say to each other: one JSON object a line. */
export type GuardMessage =
  | { readonly kind: 'granted'; readonly sentAtMs: number }
  | { readonly kind: 'reconciled' }
  | { readonly kind: 'fenced'; readonly fenced: boolean }

const LINE_BYTES_MAX = 4_096

export const writeMessage = (socket: Socket, message: GuardMessage): void =>
  void socket.write(`${JSON.stringify(message)}\n`)

/** Calls for each message; a peer that speaks otherwise is hung up on. */
export function readMessages(socket: Socket, call: (message: GuardMessage) => void): void {
  let rest = ''
  socket.setEncoding('utf8')
  socket.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > LINE_BYTES_MAX) socket.destroy()
    for (const line of lines) {
      const message = parse(line)
      if (message === undefined) socket.destroy()
      else call(message)
    }
  })
}

function parse(line: string): GuardMessage | undefined {
  try {
    return JSON.parse(line) as GuardMessage
  } catch {
    return undefined
  }
}
