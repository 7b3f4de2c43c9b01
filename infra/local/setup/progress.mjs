const TICK_MS = 15_000

/**
 * Says what begins, that it goes on, and how it ended.
 * @template T
 * @param {string} label @param {number} expectedSeconds @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withProgress(label, expectedSeconds, work) {
  const startedAt = Date.now()
  const seconds = () => Math.round((Date.now() - startedAt) / 1000)
  console.log(`set-up: ${label} … (about ${expectedSeconds} s)`)
  const ticker = setInterval(() => console.log(`set-up: ${label} … ${seconds()} s`), TICK_MS)
  try {
    const result = await work()
    console.log(`set-up: ${label}: done in ${seconds()} s`)
    return result
  } finally {
    clearInterval(ticker)
  }
}
