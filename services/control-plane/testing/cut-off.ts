import type { NatsAdapter } from '@torpor/adapter-nats'
import type { AppendResult, Bus, EventLog, EventName, NodeCommandName } from '@torpor/contracts'
import { SUBJECTS, cloudEventType, fault } from '@torpor/contracts'

/** A moment in the work of a control plane, about one entity: `about` is part of what is written or sent. */
export type CutPoint = {
  readonly when: 'before' | 'after'
  readonly about: string
} & ({ readonly event: EventName } | { readonly nodeCommand: NodeCommandName })

/**
 * The ports of a control plane that can be cut off, as a killed process or a cut cable does: from one moment on nothing goes
 * out and nothing comes in, and nobody is told.
 */
export type CutOff = {
  readonly ports: Pick<NatsAdapter, 'bus' | 'log' | 'leases' | 'durableCommands'>
  readonly isCut: () => boolean
  /** Cuts at the first such moment; resolves then. */
  cutAt(point: CutPoint): Promise<void>
}

export function cuttable(nats: NatsAdapter): CutOff {
  let isCut = false
  let awaited: { readonly point: CutPoint; readonly cut: () => void } | undefined
  const cut = () => {
    isCut = true
    awaited?.cut()
    void nats.close().catch(() => undefined)
  }
  const isAwaited = (when: CutPoint['when'], marks: readonly string[], text: string): boolean =>
    awaited?.point.when === when &&
    marks.includes(
      'event' in awaited.point ? cloudEventType(awaited.point.event) : awaited.point.nodeCommand,
    ) &&
    text.includes(awaited.point.about)
  /** Does it between two moments at either of which it may be cut. */
  const between = async <Result>(
    marks: readonly string[],
    text: string,
    run: () => Promise<Result>,
    lost: () => Result,
  ): Promise<Result> => {
    if (isAwaited('before', marks, text)) cut()
    if (isCut) return lost()
    const result = await run()
    if (isAwaited('after', marks, text)) cut()
    return isCut ? lost() : result
  }

  return {
    ports: {
      bus: cuttableBus(nats.bus, between, () => isCut),
      log: cuttableLog(nats.log, between, () => isCut),
      leases: nats.leases,
      durableCommands: nats.durableCommands,
    },
    isCut: () => isCut,
    cutAt: (point) =>
      new Promise((resolve) => {
        awaited = { point, cut: resolve }
      }),
  }
}

type Between = <Result>(
  marks: readonly string[],
  text: string,
  run: () => Promise<Result>,
  lost: () => Result,
) => Promise<Result>

const decoder = new TextDecoder()
const NODE_COMMAND = SUBJECTS.nodeCommand('', '').replace(/\.+$/, '.')

function cuttableBus(bus: Bus, between: Between, isCut: () => boolean): Bus {
  return {
    publish(subject, data, headers) {
      if (!isCut()) bus.publish(subject, data, headers)
    },
    request(subject, data, options) {
      const marks = subject.startsWith(NODE_COMMAND) ? [subject.slice(subject.lastIndexOf('.') + 1)] : []
      const lost = (): never => {
        throw fault('BUS_UNAVAILABLE', 'cut off')
      }
      return between(marks, decoder.decode(data), () => bus.request(subject, data, options), lost)
    },
    subscribe: (subject, handle, options) =>
      bus.subscribe(
        subject,
        (message, respond) => {
          if (!isCut()) handle(message, (data) => void (isCut() || respond(data)))
        },
        options,
      ),
    close: () => bus.close(),
  }
}

function cuttableLog(log: EventLog, between: Between, isCut: () => boolean): EventLog {
  const ambiguous = (): AppendResult => ({ kind: 'ambiguous', cause: new Error('cut off') })
  return {
    shards: log.shards,
    shard(index) {
      const inner = log.shard(index)
      return {
        ...inner,
        append(bytes, expected) {
          const text = decoder.decode(bytes)
          const marks = [...text.matchAll(/"type":"(dev\.torpor\.[^"]*)"/g)].map(([, type = '']) => type)
          return between(marks, text, () => inner.append(bytes, expected), ambiguous)
        },
      }
    },
    publishEvent(subject, line) {
      if (!isCut()) log.publishEvent(subject, line)
    },
  }
}
