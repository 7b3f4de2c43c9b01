/** Runs `work` for every item, at most `atOnce` side by side. The first failure stops what has not begun. */
export async function forEachAtOnce<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = items.values()
  let failed = false
  const lane = async (): Promise<void> => {
    for (const item of rest) {
      if (failed) return
      try {
        await work(item)
      } catch (error) {
        failed = true
        throw error
      }
    }
  }
  const lanes = Array.from({ length: Math.min(atOnce, items.length) }, lane)
  const outcomes = await Promise.allSettled(lanes)
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}
