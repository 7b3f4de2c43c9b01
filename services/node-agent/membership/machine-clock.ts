/** Milliseconds since the machine started: the same in every process of it, and never set back. */
export const machineMonotonicMs = (): number => Number(process.hrtime.bigint() / 1_000_000n)
