import { createServer } from 'node:net'
import { SUPERVISOR_LIMITS } from './limits.ts'

export type ChosenPort = {
  readonly port: number
  /** Set where the asked port was taken: one line that names both. */
  readonly notice?: string
}

/**
 * The asked port, or the next one that is free.
 * @param claim says whether a free port may be ours; see port-claims.ts
 * @throws Error where none of the next ports is free
 */
export async function choosePort(
  name: string,
  asked: number,
  claim: (port: number) => boolean = () => true,
  host = '127.0.0.1',
): Promise<ChosenPort> {
  for (let port = asked; port < asked + SUPERVISOR_LIMITS.portsTriedMax; port += 1) {
    if (!(await isFree(port, host)) || !claim(port)) continue
    if (port === asked) return { port }
    return { port, notice: `port ${asked} is taken: ${name} uses ${port}` }
  }
  throw new Error(`${name}: ports ${asked} to ${asked + SUPERVISOR_LIMITS.portsTriedMax - 1} are all taken`)
}

function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)))
  })
}
