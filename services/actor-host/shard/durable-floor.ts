/**
 * Up to which sequence of the stream COMMANDS all durable commands of a shard are decided.
 *
 * 1. Only the caller raises it: it may decide several at a time, out of order.
 * 2. It goes with whatever frame is sent next, and alone in a frame without events when a durable command below it was accepted
 *    without an event: nothing else in the log would tell that it was decided, and the next owner would decide it again.
 */
export type DurableFloor = {
  readonly sequence: number
  /** It must be written even if there is nothing else to write. */
  readonly isDue: boolean
  raise(sequence: number): void
  acceptedWithoutEvent(sequence: number): void
  /** It goes with the frame that is being sent. */
  written(): number
  /** What the log holds after a barrier. */
  restart(inLog: number): void
}

export function createDurableFloor(): DurableFloor {
  let reached = 0
  let owed = 0
  let inLog = 0
  return {
    get sequence() {
      return reached
    },
    get isDue() {
      return owed > inLog && reached >= owed
    },
    raise(sequence) {
      reached = Math.max(reached, sequence)
    },
    acceptedWithoutEvent(sequence) {
      owed = Math.max(owed, sequence)
    },
    written() {
      inLog = reached
      return reached
    },
    restart(sequence) {
      inLog = sequence
      reached = Math.max(reached, sequence)
    },
  }
}
