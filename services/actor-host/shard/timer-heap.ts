/** When which timer of which entity is due. */
export type DueTimer = { readonly dueAtMs: number; readonly key: string; readonly id: string }

/** Due times, earliest first: a binary heap. Entries whose timer was cleared stay until they come up or are swept out. */
export type TimerHeap = {
  readonly size: number
  push(timer: DueTimer): void
  peek(): DueTimer | undefined
  pop(): DueTimer | undefined
  /** Keeps only what is asked for. */
  sweep(isLive: (timer: DueTimer) => boolean): void
}

export function createTimerHeap(): TimerHeap {
  let heap: DueTimer[] = []
  const due = (index: number): number => heap[index]?.dueAtMs ?? Number.POSITIVE_INFINITY
  const swap = (a: number, b: number): void => {
    const [first, second] = [heap[a], heap[b]]
    if (first === undefined || second === undefined) return
    heap[a] = second
    heap[b] = first
  }
  const rise = (from: number): void => {
    for (let index = from; index > 0;) {
      const parent = (index - 1) >> 1
      if (due(parent) <= due(index)) return
      swap(parent, index)
      index = parent
    }
  }
  const sink = (from: number): void => {
    for (let index = from; ;) {
      const left = 2 * index + 1
      const child = due(left + 1) < due(left) ? left + 1 : left
      if (due(child) >= due(index)) return
      swap(child, index)
      index = child
    }
  }
  return {
    get size() {
      return heap.length
    },
    push(timer) {
      heap.push(timer)
      rise(heap.length - 1)
    },
    peek: () => heap[0],
    pop() {
      const first = heap[0]
      const last = heap.pop()
      if (first === undefined || last === undefined || heap.length === 0) return first
      heap[0] = last
      sink(0)
      return first
    },
    sweep(isLive) {
      heap = heap.filter(isLive).toSorted((a, b) => a.dueAtMs - b.dueAtMs)
    },
  }
}
