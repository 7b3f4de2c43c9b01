import type { Bus, Clock, NodeCapacity } from '@torpor/contracts'
import { ALL, nodeCapacitySchema } from '@torpor/contracts'
import { decodeJson } from '../entities/json.ts'
import type { PlaneLimits } from '../limits.ts'

/** What nodes said last of their room. Advisory: a node alone can say yes. */
export type Capacities = {
  /** Those heard of within `nodeSuspectMs`. */
  all(): readonly NodeCapacity[]
  /** Whether a node that is not in `all` may only be silent: it was heard, or this control plane began, less than `nodeLostMs` ago. */
  mayReturn(node: string): boolean
  onNews(listener: (capacity: NodeCapacity) => void): void
  /** Resolves at the next news of any node, or after `timeoutMs`. */
  next(timeoutMs: number): Promise<void>
  close(): void
}

export function followCapacities(
  bus: Bus,
  clock: Clock,
  limits: Pick<PlaneLimits, 'nodeSuspectMs' | 'nodeLostMs'>,
): Capacities {
  const beganMs = clock.monotonicMs()
  const heard = new Map<string, { readonly capacity: NodeCapacity; readonly atMs: number }>()
  const listeners = new Set<(capacity: NodeCapacity) => void>()
  const subscription = bus.subscribe(ALL.capacity, (message) => {
    const parsed = nodeCapacitySchema.safeParse(decodeJson(message.data))
    if (!parsed.success) return
    heard.set(parsed.data.node, { capacity: parsed.data, atMs: clock.monotonicMs() })
    for (const listener of listeners) listener(parsed.data)
  })
  return {
    all: () =>
      [...heard.values()]
        .filter(({ atMs }) => clock.monotonicMs() - atMs < limits.nodeSuspectMs)
        .map(({ capacity }) => capacity),
    mayReturn: (node) => clock.monotonicMs() - (heard.get(node)?.atMs ?? beganMs) < limits.nodeLostMs,
    onNews: (listener) => void listeners.add(listener),
    next: (timeoutMs) =>
      new Promise((resolve) => {
        const end = () => {
          cancel()
          listeners.delete(end)
          resolve()
        }
        const cancel = clock.after(timeoutMs, end)
        listeners.add(end)
      }),
    close: () => subscription.unsubscribe(),
  }
}
