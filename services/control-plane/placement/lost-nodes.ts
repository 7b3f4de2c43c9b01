import type { Capacities } from './capacities.ts'

/**
 * Nodes that their owners declared LOST, as far as this control plane was told (effects/lost-nodes.ts tells every shard, again
 * and again): advisory. A node that is heard of again is not lost for placement; what it then admits is its own word.
 */
export type LostNodes = {
  add(node: string): void
  all(): readonly string[]
}

export function rememberLostNodes(capacities: Pick<Capacities, 'onNews'>): LostNodes {
  const lost = new Set<string>()
  capacities.onNews(({ node }) => lost.delete(node))
  return { add: (node) => void lost.add(node), all: () => [...lost] }
}
