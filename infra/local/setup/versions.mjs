/** Versions as lists of numbers: enough to compare what tools print and what packages are called. */

/** @param {string} text @returns {number[]} */
function versionNumbers(text) {
  return text.split('.').map((part) => Number.parseInt(part, 10) || 0)
}

/** @param {string} version @param {string} minimum */
export function isAtLeast(version, minimum) {
  const [left, right] = [versionNumbers(version), versionNumbers(minimum)]
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0)
    if (difference !== 0) return difference > 0
  }
  return true
}

/**
 * The upstream version inside a Debian version: without epoch, revision and repacking suffix.
 * @param {string} version @param {string | undefined} pattern its first group wins where upstream has no versions
 */
export function upstreamVersion(version, pattern) {
  if (pattern) return new RegExp(pattern).exec(version)?.[1] ?? '0'
  return version.replace(/^\d+:/, '').replace(/[-+~].*$/, '')
}
