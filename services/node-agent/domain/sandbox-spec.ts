import type { ActorTemplateSpec, SandboxSpec } from '@torpor/contracts'

/** What the sandbox of an actor shall run, from its template. */
export function sandboxSpecOf(actorUid: string, spec: ActorTemplateSpec, workerCgroup: string): SandboxSpec {
  const container = spec.containers[0]
  const { cpu, memory, disk } = spec.resources.limits
  return {
    sandboxId: actorUid,
    image: container?.image ?? '',
    command: container?.command ?? [],
    args: container?.args ?? [],
    env: Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value])),
    cpuMilli: cpu,
    memoryMib: memory,
    diskMib: disk,
    durableDirs: container?.volumeMounts ?? [],
    workerCgroup,
  }
}

const DEFAULT_PORT = 8080

export const portsOf = (spec: ActorTemplateSpec): readonly number[] =>
  (spec.containers[0]?.ports ?? []).map(({ containerPort }) => containerPort)

/** The port that requests go to when they name none. */
export const defaultPortOf = (spec: ActorTemplateSpec): number =>
  portsOf(spec)[0] ?? spec.containers[0]?.wakeupProbe?.httpGet.port ?? DEFAULT_PORT
