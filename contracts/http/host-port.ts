import { fault } from '../errors.ts'

export type HostPort = { readonly host: string; readonly port: number }

/**
 * Splits `host:port`; IPv6 addresses stand in brackets. Throws fault `CONFIG_INVALID` for anything else.
 * @example parseHostPort('[::1]:80') // { host: '::1', port: 80 }
 */
export function parseHostPort(text: string): HostPort {
  const match = /^(?:\[([0-9a-fA-F:.%a-z]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(text)
  const port = Number(match?.[3])
  if (match === null || port > 65_535) throw fault('CONFIG_INVALID', text, { detail: 'is no host:port' })
  return { host: match[1] ?? match[2] ?? '', port }
}

/** The reverse of {@link parseHostPort}. */
export const formatHostPort = ({ host, port }: HostPort): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
