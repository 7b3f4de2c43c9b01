/**
 * Where generations rest: an object store, keyed by path. Laws (`ports/laws/snapshot-store-laws.ts`): a put is seen whole
 * or not at all; a conditional put of an existing key changes nothing and says so; a get gives back the exact bytes or fails.
 * Errors are faults `STORE_UNAVAILABLE` (try again) or `SNAPSHOT_UNKNOWN` (no such key).
 */
export interface SnapshotStore {
  /** Streams a local file into `key`. */
  putFile(key: string, path: string, signal?: AbortSignal): Promise<void>
  /** Stores small bytes; with `ifAbsent` only when the key is new: false when it was there. */
  putBytes(key: string, bytes: Uint8Array, options?: { readonly ifAbsent?: boolean }): Promise<boolean>
  getBytes(key: string): Promise<Uint8Array>
  /** Streams `key` into a new local file. */
  getFile(key: string, path: string, signal?: AbortSignal): Promise<void>
  exists(key: string): Promise<boolean>
  /** Keys that begin with `prefix`, in order, all of them. */
  list(prefix: string): AsyncIterable<string>
  /** Removes; a key that is not there is no error. */
  remove(key: string): Promise<void>
}
