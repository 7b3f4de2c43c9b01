/** Where the driver keeps its things, and how much it may make ahead. */
export type GvisorOptions = {
  /** The `runsc` binary; `docs/decisions/0004-runsc.md` says which. */
  readonly runscPath: string
  /** On a disk: images, slots, overlays. Survives the agent; one agent at a time. */
  readonly stateDir: string
  /** Short path (control sockets live here and may have 107 characters), on tmpfs where possible. */
  readonly runDir: string
  /** 1–6 characters of a–z, 0–9 that tell this node's interfaces, namespaces and cgroups from those of another. */
  readonly nodeTag: string
  /** The /16 from which each slot gets a /30, as its first two numbers; see `network-claim.ts`. */
  readonly network: string
  /** Networks kept ready. */
  readonly networksAheadMax: number
  /** Sandboxes kept created, over all templates; one for each template that was used last. */
  readonly sandboxesAheadMax: number
  readonly platform: 'systrap' | 'kvm' | 'ptrace'
  /** Told what the driver does in the background: a line for the agent's log. */
  readonly onNote: (note: string) => void
}

/** What an agent gives: paths and its tag, and what it wants otherwise than usual. */
export type GivenOptions = Pick<GvisorOptions, 'runscPath' | 'stateDir' | 'runDir' | 'nodeTag'> &
  Partial<GvisorOptions>

/** Options with their defaults. */
export function gvisorOptions(given: GivenOptions, network: string): GvisorOptions {
  return {
    networksAheadMax: 4,
    sandboxesAheadMax: 4,
    platform: 'systrap',
    onNote: () => undefined,
    ...given,
    network,
  }
}

/** Bounds of the driver, by name, units last. */
export const GVISOR_LIMITS = {
  /** A /16 holds this many slots. */
  slotsMax: 16_000,
  commandTimeoutMs: 60_000,
  /** Writing or reading pages: 16 GiB at 100 MB/s, rounded. */
  pagesTimeoutMs: 180_000,
  imageTimeoutMs: 600_000,
  ipTimeoutMs: 10_000,
  execTimeoutMs: 30_000,
  execOutputBytesMax: 1024 * 1024,
  controlTimeoutMs: 2_000,
  controlAnswerBytesMax: 1024 * 1024,
  /** Together under a second: an end must be known within two. */
  waitAttemptsMax: 20,
  waitRetryMs: 25,
  endTimeoutMs: 10_000,
  endPollMs: 2,
  aheadDelayMs: 250,
  /** What a checkpoint leaves is given back when its sandbox is terminated, else after this. */
  giveBackDelayMs: 1_000,
  /** A sandbox that wakes may use all of its worker's CPU for this long. */
  burstMs: 1_000,
  /** What the sandbox itself may need beyond the actor's memory. */
  overheadMib: 64,
  logBytesMax: 4 * 1024 * 1024,
  logTailBytes: 64 * 1024,
  tagLengthMax: 6,
  runDirLengthMax: 60,
} as const
