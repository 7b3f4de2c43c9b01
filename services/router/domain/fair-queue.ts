/**
 * Who is next, fair among lanes: each lane (an atespace) keeps its own order, and the lanes take turns. So a lane with a
 * thousand waiting delays the only one of another lane by one turn.
 *
 * Pure bookkeeping: no time, no input or output.
 */
export type FairQueue<Item> = {
  readonly size: number
  /** Puts an item into its lane, before all of a higher `order`: one that comes back keeps its place. */
  add(lane: string, order: number, item: Item): void
  /** Takes the next one, and gives the turn to the next lane. */
  take(): Item | undefined
  remove(item: Item): boolean
  /** How many are taken before this one, plus one; 0 when it does not wait here. */
  position(item: Item): number
}

type Entry<Item> = { readonly order: number; readonly item: Item }

export function createFairQueue<Item>(): FairQueue<Item> {
  // A Map keeps the order in which lanes came; a lane whose turn is over goes to the end.
  const lanes = new Map<string, Entry<Item>[]>()
  let size = 0

  const dropIfEmpty = (lane: string, entries: Entry<Item>[]): void => {
    if (entries.length === 0) lanes.delete(lane)
  }
  return {
    get size() {
      return size
    },
    add(lane, order, item) {
      const entries = lanes.get(lane) ?? []
      if (entries.length === 0) lanes.set(lane, entries)
      const after = entries.findIndex((entry) => entry.order > order)
      entries.splice(after === -1 ? entries.length : after, 0, { order, item })
      size += 1
    },
    take() {
      for (const [lane, entries] of lanes) {
        const first = entries.shift()
        lanes.delete(lane)
        if (entries.length > 0) lanes.set(lane, entries)
        size -= 1
        return first?.item
      }
      return undefined
    },
    remove(item) {
      for (const [lane, entries] of lanes) {
        const index = entries.findIndex((entry) => entry.item === item)
        if (index === -1) continue
        entries.splice(index, 1)
        dropIfEmpty(lane, entries)
        size -= 1
        return true
      }
      return false
    },
    position(item) {
      const turns = [...lanes.values()]
      const lane = turns.findIndex((entries) => entries.some((entry) => entry.item === item))
      if (lane === -1) return 0
      const row = (turns[lane] ?? []).findIndex((entry) => entry.item === item)
      // Every lane gives `row` items before, and those whose turn comes earlier one more.
      return (
        1 +
        turns.reduce((ahead, { length }, index) => ahead + Math.min(length, index < lane ? row + 1 : row), 0)
      )
    },
  }
}
