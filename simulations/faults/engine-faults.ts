import { sleep } from '@torpor/contracts'
import type { HostProcess, SimulatedWorld } from '../../services/actor-host/testing/simulated-world.ts'
import type { AppendFault } from '../world/log/append-faults.ts'
import { noFaults, randomFaults } from '../world/log/append-faults.ts'
import type { SeededRandom } from '../world/random.ts'

/** Hosts that come and go while the world breaks under them. */
export type Disturbance = {
  readonly hosts: () => readonly HostProcess[]
  /** What happened, in a line each, with simulated milliseconds. */
  readonly lines: readonly string[]
  /** Joins the first members; resolves when they have asked for their share. */
  begin(members: number): Promise<void>
  /** Breaks one thing after the other. */
  breakThings(times: number): Promise<void>
  /** Everything that was broken works again, and somebody is there. */
  heal(): Promise<void>
}

const PAUSE_MS_MAX = 8_000
const OUTAGE_MS_MAX = 3_000
const REST_MS_MAX = 1_500
const APPEND_FAULTS: readonly AppendFault[] = ['lost', 'unanswered', 'late', 'refused', 'inFlightConflict']
const FAULT_CHANCE_MAX = 0.08

/** Each seed draws which faults there are at all, so that some of them meet alone and often. */
export function disturb(world: SimulatedWorld, random: SeededRandom): Disturbance {
  const { clock, log } = world
  const living = new Set<HostProcess>()
  const paused = new Set<HostProcess>()
  const lines: string[] = []
  let members = 0
  const say = (line: string): void => void lines.push(`${clock.monotonicMs().toFixed(1)} ms ${line}`)
  const nameOf = new Map<HostProcess, string>()
  const join = (): Promise<void> => {
    members += 1
    const member = world.spawn(`owner-${members}`)
    nameOf.set(member, `owner-${members}`)
    living.add(member)
    say(`owner-${members} joins`)
    return member.host.start().catch(() => undefined)
  }
  const pick = (): HostProcess | undefined => [...living][random.between(0, living.size - 1)]
  const leave = (verb: string, end: (member: HostProcess) => void): void => {
    const member = pick()
    if (member === undefined) return
    living.delete(member)
    paused.delete(member)
    say(`${nameOf.get(member)} ${verb}`)
    end(member)
    void join()
  }
  const pause = async (): Promise<void> => {
    const member = pick()
    if (member === undefined) return
    say(`${nameOf.get(member)} is stopped`)
    member.process.pause()
    paused.add(member)
    await sleep(clock, random.fraction() * PAUSE_MS_MAX)
    if (paused.delete(member)) member.process.resume()
  }
  const outage = async (name: string, set: (isOn: boolean) => void): Promise<void> => {
    say(`the log is ${name}`)
    set(true)
    await sleep(clock, random.fraction() * OUTAGE_MS_MAX)
    set(false)
  }
  const things: readonly (() => Promise<void> | void)[] = [
    pause,
    () => leave('is killed', ({ process }) => process.kill()),
    () => leave('leaves', ({ host }) => void host.close().catch(() => undefined)),
    () => outage('full', (isFull) => log.setFull(isFull)),
    () => outage('away', (isDown) => log.setDown(isDown)),
    () => {
      say('the leader of the log is gone')
      log.changeLeader(random.fraction() * OUTAGE_MS_MAX)
    },
  ]
  const possible = things.filter(() => random.chance(0.5))
  return {
    hosts: () => [...living],
    lines,
    async begin(count) {
      await Promise.all(Array.from({ length: count }, join))
      const chosen = APPEND_FAULTS.filter(() => random.chance(0.6))
      log.plant(
        randomFaults(
          random.branch(),
          Object.fromEntries(chosen.map((fault) => [fault, random.fraction() * FAULT_CHANCE_MAX])),
        ),
      )
    },
    async breakThings(times) {
      for (let time = 0; time < times; time += 1) {
        await sleep(clock, random.fraction() * REST_MS_MAX)
        await possible[random.between(0, possible.length - 1)]?.()
      }
    },
    async heal() {
      log.plant(noFaults)
      for (const member of paused) member.process.resume()
      paused.clear()
      say('everything works again')
    },
  }
}
