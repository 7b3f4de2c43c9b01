import { readFile } from 'node:fs/promises'
import { sha256Hex } from '@torpor/contracts'
import type { WorkerCgroups } from '../cgroups/worker-cgroups.ts'
import type { Worker } from '../domain/booking.ts'
import { replaceFileDurably } from './durable-file.ts'

/** The workers of this node: which there shall be, and those that go when they are empty. */
export interface Workers {
  /** A worker that admits. */
  find(name: string): Worker | undefined
  all(): readonly Worker[]
  digest(): string
  /** These and no others of this pool: makes the missing ones; the surplus admits nothing more and goes when it is empty. */
  set(workerPool: string, workers: readonly Worker[], isEmpty: (worker: string) => boolean): Promise<void>
  /** Removes a surplus worker that has become empty. */
  emptied(worker: string): Promise<void>
  /** The agent stops: cgroups that hold nothing go; the next agent makes them again. */
  leave(): Promise<void>
}

/** Reads the workers that an earlier agent was given, and makes sure of their cgroups. */
export async function openWorkers(path: string, cgroups: WorkerCgroups): Promise<Workers> {
  const text = await readFile(path, 'utf8').catch(() => '[]')
  let workers = JSON.parse(text) as readonly Worker[]
  const leaving = new Set<string>()
  const ensure = ({ worker, spec }: Worker): Promise<void> => {
    const { cpu, memory } = spec.template.resources.limits
    return cgroups.ensure(worker, { cpuMilli: cpu, memoryMib: memory })
  }
  for (const worker of workers) await ensure(worker)
  const emptied = async (worker: string): Promise<void> => {
    if (leaving.delete(worker)) await cgroups.remove(worker)
  }

  return {
    find: (name) => workers.find(({ worker }) => worker === name),
    all: () => workers,
    digest: () => sha256Hex(JSON.stringify(workers)),
    async set(workerPool, wanted, isEmpty) {
      const others = workers.filter((worker) => worker.workerPool !== workerPool)
      const surplus = workers.filter(
        ({ worker }) => !others.concat(wanted).some((other) => other.worker === worker),
      )
      workers = [...others, ...wanted]
      for (const { worker } of wanted) leaving.delete(worker)
      for (const { worker } of surplus) leaving.add(worker)
      for (const worker of wanted) await ensure(worker)
      await replaceFileDurably(path, JSON.stringify(workers))
      for (const worker of leaving) if (isEmpty(worker)) await emptied(worker)
    },
    emptied,
    leave: () => cgroups.leave(workers.map(({ worker }) => worker).concat(...leaving)),
  }
}
