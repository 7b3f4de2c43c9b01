import { fault } from './errors.ts'
import { LIMITS } from './limits.ts'

/**
 * Throws unless `key` can be the path of an object: segments with `/` between, none empty, `.` or `..`, no control
 * characters, at most `storeKeyBytesMax` bytes. Every store checks this first, so that no key leaves its folder or prefix.
 */
export function checkStoreKey(key: string): void {
  const bytes = new TextEncoder().encode(key).length
  const wrong = key.split('/').some((segment) => segment === '' || segment === '.' || segment === '..')
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (wrong || bytes > LIMITS.storeKeyBytesMax || /[\u0000-\u001f\u007f\\]/.test(key)) {
    throw fault('INTERNAL', JSON.stringify(key.slice(0, 200)), { detail: 'cannot be the key of an object' })
  }
}
