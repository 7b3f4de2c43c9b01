import type { World } from './world.ts'

/** Work that goes on until Ctrl-C: what fails because of it is its end, not a failure. */
export async function untilInterrupted({ signal }: World, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (thrown) {
    if (!signal.aborted) throw thrown
  }
}
