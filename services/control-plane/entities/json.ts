const encoder = new TextEncoder()
const decoder = new TextDecoder()

export const encodeJson = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value))

/** Throws a SyntaxError for bytes that are no JSON. Empty bytes are an empty object: what `nats req SUBJECT ''` sends. */
export const decodeJson = (bytes: Uint8Array): unknown =>
  bytes.length === 0 ? {} : JSON.parse(decoder.decode(bytes))
