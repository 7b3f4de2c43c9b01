/** Every bound of the system by its name, units last. A queue, wait or retry without a name here does not exist. */
export const LIMITS = {
  frameBytesMax: 512 * 1024,
  eventBytesMax: 256 * 1024,
  frameEventsMax: 4_096,
  /** Fewer waiting commands than this are not spread over several frames. */
  frameCommandsMin: 64,
  appendsInFlightMax: 4,
  appendTimeoutMs: 5_000,
  mailboxCommandsMax: 65_536,
  idempotencyWindowMs: 15 * 60_000,
  idempotencyEntriesMax: 1_000_000,
  clockSkewMsMax: 5_000,
  /** Between two tries to get a shard's log to take the barrier. */
  recoveryBackoffMsMin: 25,
  recoveryBackoffMsMax: 1_000,
  /** A timer that fired and is still set fires again after this. */
  timerRetryMs: 1_000,
  timersFiredAtOnceMax: 256,
  /** A deleted name answers 410 for this long, then 404. */
  goneMs: 24 * 3_600_000,
  shardLeaseMs: 3_000,
  shardLeaseRenewMs: 1_000,
  shardsPerServerDefault: 4,
  shardsPerClusterDefault: 16,
  rpcTimeoutMs: 30_000,
  /** Without an answer the same message is sent again after this: whoever took it may have ended with it. */
  rpcAskAgainMs: 2_000,
  rpcAttemptsMax: 12,
  rpcBackoffMsMin: 25,
  rpcBackoffMsMax: 1_000,
  commandsAgeMs: 24 * 3_600_000,
  eventsAgeMs: 24 * 3_600_000,
  eventsBytesMax: 1024 * 1024 * 1024,
  nodeMessagesAgeMs: 3_600_000,
  nodeMessagesBytesMax: 64 * 1024 * 1024,
  nodeCommandTimeoutMs: 2_000,
  reportTimeoutMs: 2_000,
  reportBackoffMsMin: 50,
  reportBackoffMsMax: 2_000,
  reportsPendingMax: 10_000,
  nodeLeaseRenewMs: 2_000,
  fenceMs: 20_000,
  nodeSuspectMs: 8_000,
  nodeLostMs: 30_000,
  capacityPublishMs: 1_000,
  /** Changes of a node within this time go out as one notice. */
  capacityCoalesceMs: 5,
  reconcileMs: 5_000,
  prepareTtlMs: 5_000,
  prepareCandidatesMax: 8,
  /** Places that a node makes ready at once; the rest waits in order. */
  placesAtOnceMax: 3,
  /** Operations of one actor that may wait on a node. */
  actorOperationsMax: 32,
  /** Actors whose highest assignment a node remembers after they left it. */
  assignmentsKeptMax: 100_000,
  restoresAtOnceMax: 2,
  uploadsAtOnceMax: 2,
  /** Copies that a node hashes at once in the background. */
  sealsAtOnceMax: 1,
  /** What is left of a sandbox is cleared once its checkpoint is answered, but no later than this. */
  clearAfterReportMsMax: 100,
  /** From the report of a checkpoint to its hashing: the answer, the next wake and what is given back go first. */
  sealDelayMs: 300,
  /** What an agent that ends still gives to copies that are not hashed. */
  sealStopMsMax: 10_000,
  /** Files of one generation that are copied to or from the object store at once. */
  filesAtOnceMax: 4,
  uploadBackoffMsMin: 1_000,
  uploadBackoffMsMax: 60_000,
  resumeDeadlineMs: 120_000,
  suspendDeadlineMs: 300_000,
  /** A suspend or revert waits so long for a resume that is about to end: an actor answers a moment before the log says that it runs. */
  startAwaitedMs: 2_000,
  revertDeadlineMs: 60_000,
  deleteDeadlineMs: 60_000,
  restoreAttemptsMax: 2,
  /** How long a checkpoint that an earlier agent began may still run before another one is begun. */
  checkpointSettleMs: 10_000,
  /** `crashPolicy: restart` leaves an actor CRASHED after this many restarts, each within `restartWindowMs` of the one before. */
  restartsMax: 5,
  restartWindowMs: 10 * 60_000,
  /** Wakes that states ask for (a restart, a revert "then resume"), of one control plane at a time. */
  wakesWantedAtOnceMax: 64,
  /** Between two tries to make a wish of a state true. */
  wishBackoffMsMin: 1_000,
  wishBackoffMsMax: 30_000,
  parkMs: 5_000,
  parkedRequestsMax: 2_048,
  /** After the park budget a request whose actor is placed waits at most this much more for a restore that runs. */
  parkPlacedExtraMs: 60_000,
  routeTimeoutMs: 300_000,
  requestHeaderBytesMax: 16 * 1024,
  gateConnectTimeoutMs: 2_000,
  /** Shorter than servers keep an idle connection: one that the server is about to close must not be used again. */
  gateIdleConnectionMs: 1_500,
  gateIdleConnectionsPerActorMax: 64,
  gateOpenRequestsPerActorMax: 2_048,
  /** Routers that wait at one gate for actors that start there, and how long one waits. */
  gateKnocksMax: 8_192,
  gateKnockMs: 30_000,
  routesMax: 100_000,
  /** Flights that ask again at once when capacity changed. */
  wakeRetriesAtOnceMax: 16,
  /** Idle connections that a router keeps to one gate, and for how long: shorter than the gate keeps them. */
  routerIdleConnectionsPerGateMax: 256,
  routerIdleConnectionMs: 30_000,
  serverKeepAliveMs: 65_000,
  requestHeadTimeoutMs: 30_000,
  routerDrainMs: 10_000,
  retryAfterSeconds: 1,
  drainMs: 30_000,
  probeTimeoutMs: 30_000,
  probeIntervalMs: 5,
  /** One attempt of a probe: begins with the first, doubles to the second. */
  probeAttemptMsMin: 250,
  probeAttemptMsMax: 2_000,
  uploadDelayMs: 5 * 60_000,
  detachDelayMs: 30 * 60_000,
  maxActorsPerWorker: 1_000,
  workersPerPoolMax: 10_000,
  listPageSizeDefault: 100,
  listPageSizeMax: 1_000,
  feedActorsRememberedMax: 10_000,
  projectorBatchBytesMax: 4 * 1024 * 1024,
  /** Of all shards together; the states of other entities are read from the rows. */
  projectorStatesKeptMax: 10_000,
  projectorBackoffMsMin: 100,
  projectorBackoffMsMax: 5_000,
  readModelConnectTimeoutMs: 3_000,
  readModelQueryTimeoutMs: 30_000,
  workerMemoryReserveMib: 64,
  /** Copies on a node that are remembered as checked. */
  checkedCopiesMax: 100_000,
  exitNoticeMs: 2_000,
  idleWatchMs: 1_000,
  guardReconnectMs: 500,
  /** The first connection to the bus is tried for this long. */
  busConnectMs: 10_000,
  busConnectRetryMs: 100,
  busDialTimeoutMs: 2_000,
  busReconnectWaitMs: 100,
  busPingIntervalMs: 5_000,
  busPingsOutMax: 2,
  busRequestsPendingMax: 65_536,
  /** One question to JetStream itself: the state of a stream, a new consumer. */
  streamRequestTimeoutMs: 5_000,
  streamPullMessages: 256,
  streamPullExpiresMs: 30_000,
  streamHeartbeatMs: 2_000,
  /** A reader that hears neither message nor heartbeat for this long begins again. */
  streamSilenceMsMax: 5_000,
  streamRetryMsMin: 50,
  streamRetryMsMax: 1_000,
  /** The server forgets a reader that asks for nothing for this long. */
  streamReaderIdleMs: 30_000,
  logReadStallMs: 10_000,
  logDuplicateWindowMs: 100,
  /** How far a follower of EVENTS goes back after an interruption: that stream may lose its youngest messages. */
  feedRewindMax: 1_000,
  leaseRequestTimeoutMs: 2_000,
  /** A lease or member that nobody renews for this long leaves the bucket. */
  leaseForgottenMs: 24 * 3_600_000,
  storeKeyBytesMax: 1_024,
  storeConnectTimeoutMs: 5_000,
  storeSilenceMsMax: 60_000,
  storeAttemptsMax: 3,
  /** A put that met another one, or a removal beside it, is sent again so often, each time after so much longer. */
  storeConflictsMax: 8,
  storeConflictPauseMs: 10,
  storePartBytes: 16 * 1024 * 1024,
  storePartsInFlightMax: 4,
  /** What an interrupted put left behind is removed once it is this old. */
  storeLeftoverMs: 24 * 3_600_000,
  /** A part that is told to stop has this long before it is ended. */
  stopMs: 15_000,
} as const

export type LimitName = keyof typeof LIMITS
