/** Bounds of the local supervisor, units last. */
export const SUPERVISOR_LIMITS = {
  partReadyMsMax: 60_000,
  partStopMsMax: 15_000,
  partKillMsMax: 5_000,
  readyProbeIntervalMs: 50,
  restartBackoffMsMin: 100,
  restartBackoffMsMax: 5_000,
  /** A part that served this long begins again with the shortest back-off. */
  restartForgivenMs: 30_000,
  restartsInARowMax: 30,
  logBytesMax: 16 * 1024 * 1024,
  logLineBytesMax: 64 * 1024,
  portsTriedMax: 200,
  orphanEndMsMax: 10_000,
  commandMsMax: 60_000,
} as const
