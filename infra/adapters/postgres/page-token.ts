import { fault } from '@torpor/contracts'

/** Where a page ended: the next begins after it. Says nothing of shards or servers. */
export type PageEnd = { readonly atespace: string; readonly name: string }

export const encodePageToken = ({ atespace, name }: PageEnd): string =>
  Buffer.from(`${atespace}/${name}`).toString('base64url')

/** The reverse; undefined for the first page. Throws COMMAND_MALFORMED for what no page ever gave out. */
export function decodePageToken(token: string): PageEnd | undefined {
  if (token === '') return undefined
  const [atespace, name, more] = Buffer.from(token, 'base64url').toString().split('/')
  if (!atespace || !name || more !== undefined || encodePageToken({ atespace, name }) !== token) {
    throw fault('COMMAND_MALFORMED', 'pageToken', { detail: 'no page ends there' })
  }
  return { atespace, name }
}
