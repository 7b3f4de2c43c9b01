/** First in, first out, in constant time however long it is. */
export type Fifo<Item> = {
  readonly size: number
  push(item: Item): void
  peek(): Item | undefined
  shift(): Item | undefined
  /** Puts items in front of all others, in their order. */
  putBack(items: readonly Item[]): void
  /** Takes all out. */
  drain(): readonly Item[]
}

const COMPACT_AT = 1_024

export function createFifo<Item>(): Fifo<Item> {
  let items: (Item | undefined)[] = []
  let head = 0
  const compact = (): void => {
    if (head < COMPACT_AT || head * 2 < items.length) return
    items = items.slice(head)
    head = 0
  }
  return {
    get size() {
      return items.length - head
    },
    push: (item) => void items.push(item),
    peek: () => items[head],
    shift() {
      if (head === items.length) return undefined
      const item = items[head]
      items[head] = undefined
      head += 1
      compact()
      return item
    },
    putBack(front) {
      items = [...front, ...items.slice(head)]
      head = 0
    },
    drain() {
      const all = items.slice(head) as Item[]
      items = []
      head = 0
      return all
    },
  }
}
