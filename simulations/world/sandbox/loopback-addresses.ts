/** Gives out addresses of 127.0.0.0/8, so that each simulated sandbox has one of its own, as real ones have. */
export type LoopbackAddresses = { take(): string; giveBack(address: string): void }

const HOSTS_MAX = 65_000

/** `network`: 1–254, the second number of every address, drawn by the caller so that two worlds rarely share one. */
export function loopbackAddresses(network: number): LoopbackAddresses {
  const taken = new Set<number>()
  let next = 1
  const advance = (): void => {
    next = next >= HOSTS_MAX ? 1 : next + 1
  }
  return {
    take() {
      if (taken.size >= HOSTS_MAX) throw new Error(`all ${HOSTS_MAX} loopback addresses are taken`)
      while (taken.has(next)) advance()
      const host = next
      taken.add(host)
      advance()
      return `127.${network}.${host >> 8}.${host & 255}`
    },
    giveBack(address) {
      const [, , high, low] = address.split('.').map(Number)
      taken.delete(((high ?? 0) << 8) | (low ?? 0))
    },
  }
}
