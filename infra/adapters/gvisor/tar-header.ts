/** Headers of tar files (ustar; pax records for what does not fit): made and read. Reads what it makes, no more. */
export type TarHeader = {
  /** Relative; of a folder with "/" at its end. */
  readonly path: string
  readonly kind: 'file' | 'folder' | 'symlink' | 'hardlink'
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly size: number
  readonly mtimeS: number
  /** Where a symlink or hard link points; else empty. */
  readonly link: string
}

export const TAR_BLOCK = 512
const KINDS = { file: '0', hardlink: '1', symlink: '2', folder: '5' } as const
const PAX = 'x'
const NAME_BYTES_MAX = 100
const OCTAL_7_MAX = 0o7777777
const OCTAL_11_MAX = 0o77777777777

/** The blocks before an entry's content. */
export function encodeTarHeader(header: TarHeader): Buffer {
  const records = paxRecords(header)
  if (records.length === 0) return block(header, KINDS[header.kind])
  const pax = { ...header, path: 'pax', link: '', size: records.length, uid: 0, gid: 0 }
  const padding = Buffer.alloc(paddingOf(records.length))
  return Buffer.concat([block(pax, PAX), records, padding, block(header, KINDS[header.kind])])
}

/** Bytes of zero after content of this size. */
export const paddingOf = (size: number): number => (TAR_BLOCK - (size % TAR_BLOCK)) % TAR_BLOCK

export type DecodedBlock =
  | { readonly kind: 'end' }
  | { readonly kind: 'pax'; readonly size: number }
  | { readonly kind: 'entry'; readonly header: TarHeader }

/** One block, with the pax records before it, if there were any. Throws for what this file does not write. */
export function decodeTarBlock(bytes: Buffer, records: ReadonlyMap<string, string>): DecodedBlock {
  if (bytes.every((byte) => byte === 0)) return { kind: 'end' }
  if (octalAt(bytes, 148, 8) !== checksum(bytes)) throw new Error('a tar header is damaged')
  const flag = String.fromCharCode(bytes[156] ?? 0)
  const size = octalAt(bytes, 124, 12)
  if (flag === PAX) return { kind: 'pax', size }
  const kind = (['file', 'hardlink', 'symlink', 'folder'] as const).find((name) => KINDS[name] === flag)
  if (kind === undefined) throw new Error(`a tar entry of the unknown kind "${flag}"`)
  const number = (name: string, at: number, length: number): number =>
    Number(records.get(name) ?? octalAt(bytes, at, length))
  return {
    kind: 'entry',
    header: {
      path: records.get('path') ?? textAt(bytes, 0, 100),
      kind,
      mode: octalAt(bytes, 100, 8),
      uid: number('uid', 108, 8),
      gid: number('gid', 116, 8),
      size: number('size', 124, 12),
      mtimeS: number('mtime', 136, 12),
      link: records.get('linkpath') ?? textAt(bytes, 157, 100),
    },
  }
}

/** `length key=value\n`, where the length counts itself. */
export function decodePax(bytes: Buffer): ReadonlyMap<string, string> {
  const records = new Map<string, string>()
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(' ', at)
    const length = Number(bytes.toString('ascii', at, space))
    if (space < 0 || !Number.isInteger(length) || length < 4) throw new Error('a pax record is damaged')
    const text = bytes.toString('utf8', space + 1, at + length - 1)
    records.set(text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1))
    at += length
  }
  return records
}

function paxRecords({ path, link, size, uid, gid, mtimeS }: TarHeader): Buffer {
  const long = (text: string): boolean => Buffer.byteLength(text) > NAME_BYTES_MAX
  const wanted: [string, string][] = []
  if (long(path)) wanted.push(['path', path])
  if (long(link)) wanted.push(['linkpath', link])
  if (size > OCTAL_11_MAX) wanted.push(['size', `${size}`])
  if (uid > OCTAL_7_MAX) wanted.push(['uid', `${uid}`])
  if (gid > OCTAL_7_MAX) wanted.push(['gid', `${gid}`])
  if (mtimeS < 0 || mtimeS > OCTAL_11_MAX) wanted.push(['mtime', `${mtimeS}`])
  return Buffer.concat(wanted.map(([key, value]) => paxRecord(key, value)))
}

function paxRecord(key: string, value: string): Buffer {
  const rest = ` ${key}=${value}\n`
  let length = Buffer.byteLength(rest)
  while (`${length}`.length + Buffer.byteLength(rest) !== length)
    length = `${length}`.length + Buffer.byteLength(rest)
  return Buffer.from(`${length}${rest}`)
}

function block(header: TarHeader, flag: string): Buffer {
  const bytes = Buffer.alloc(TAR_BLOCK)
  const octal = (value: number, max: number, at: number, length: number): void => {
    const fits = value >= 0 && value <= max ? value : 0
    bytes.write(fits.toString(8).padStart(length - 1, '0'), at, length - 1, 'ascii')
  }
  // a name that is too long is cut here and stands whole in the pax record
  Buffer.from(header.path).copy(bytes, 0, 0, NAME_BYTES_MAX)
  octal(header.mode, OCTAL_7_MAX, 100, 8)
  octal(header.uid, OCTAL_7_MAX, 108, 8)
  octal(header.gid, OCTAL_7_MAX, 116, 8)
  octal(header.size, OCTAL_11_MAX, 124, 12)
  octal(header.mtimeS, OCTAL_11_MAX, 136, 12)
  bytes.write(flag, 156, 'ascii')
  Buffer.from(header.link).copy(bytes, 157, 0, NAME_BYTES_MAX)
  bytes.write('ustar\u000000', 257, 'ascii')
  bytes.write(`${checksum(bytes).toString(8).padStart(6, '0')}\0 `, 148, 'ascii')
  return bytes
}

/** Sum of the header's bytes, its own field taken as spaces. */
function checksum(bytes: Buffer): number {
  let sum = 8 * 32
  for (let at = 0; at < TAR_BLOCK; at++) if (at < 148 || at >= 156) sum += bytes[at] ?? 0
  return sum
}

function textAt(bytes: Buffer, at: number, length: number): string {
  const field = bytes.subarray(at, at + length)
  const end = field.indexOf(0)
  return field.toString('utf8', 0, end < 0 ? length : end)
}
const octalAt = (bytes: Buffer, at: number, length: number): number =>
  parseInt(textAt(bytes, at, length).trim() || '0', 8)
