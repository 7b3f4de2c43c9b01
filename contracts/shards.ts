const FNV_OFFSET_32 = 0x811c9dc5
const FNV_PRIME_32 = 0x01000193

/**
 * FNV-1a, 32 bits, of the UTF-8 bytes of `text`.
 * Source: the FNV page of its authors (offset basis 2166136261, prime 16777619).
 * @example fnv1a32('') === 0x811c9dc5
 */
export function fnv1a32(text: string): number {
  let hash = FNV_OFFSET_32
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    if (unit >= 0x80) return fnv1a32Bytes(new TextEncoder().encode(text))
    hash = Math.imul(hash ^ unit, FNV_PRIME_32)
  }
  return hash >>> 0
}

function fnv1a32Bytes(bytes: Uint8Array): number {
  let hash = FNV_OFFSET_32
  for (const byte of bytes) hash = Math.imul(hash ^ byte, FNV_PRIME_32)
  return hash >>> 0
}

/** The shard of every entity that is addressed by these two names, whatever its kind: a subject alone tells the shard. */
export const shardOf = (atespace: string, name: string, shards: number): number =>
  fnv1a32(`${atespace}/${name}`) % shards
