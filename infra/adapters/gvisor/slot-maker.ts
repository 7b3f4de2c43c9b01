/** Makes slots and gives them back, with all that belongs to them; keeps some created ahead, by shape. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { shapeKey, writeBundle, type SandboxShape } from './bundle.ts'
import type { Cgroups } from './cgroups.ts'
import type { NetworkPool } from './network-pool.ts'
import type { HeldRestore } from './held-restore.ts'
import { GVISOR_LIMITS, type GvisorOptions } from './options.ts'
import type { CommandResult } from './run-command.ts'
import { mustSucceed, type Runsc } from './runsc.ts'
import { closeLog, type SlotFolders, type SlotRecord } from './slot.ts'

export type SlotMaker = {
  /** A created sandbox of this shape: one made ahead, else a new one. */
  take(shape: SandboxShape): Promise<SlotRecord>
  /** Starts the restore of this slot, held, unless it was. */
  hold(record: SlotRecord): void
  /** Lets it go with this generation; its result when it has ended. */
  restore(record: SlotRecord, folder: string): Promise<CommandResult>
  /** Ends what lives of it, and gives everything back. Idempotent. */
  release(record: SlotRecord): Promise<void>
  /** Makes one of this shape ahead, soon, unless there is one. */
  makeAhead(shape: SandboxShape): void
  /** Gives back what was made ahead. */
  close(): Promise<void>
}

export type SlotParts = {
  readonly options: GvisorOptions
  readonly runsc: Runsc
  readonly cgroups: Cgroups
  readonly networks: NetworkPool
  readonly folders: SlotFolders
}

/** Control group of the node's slots that no worker has booked. */
export const nodeCgroup = ({ nodeTag }: Pick<GvisorOptions, 'nodeTag'>): string => `/tp${nodeTag}`

export function slotMaker(parts: SlotParts): SlotMaker {
  const { options, runsc, cgroups, networks, folders } = parts
  const ahead = new Map<string, SlotRecord>()
  const held = new Map<string, HeldRestore>()
  const background = new Set<Promise<void>>()
  const wanted = new Set<string>()
  const stop = new AbortController()

  const hold = (record: SlotRecord): HeldRestore => {
    const restore = held.get(record.id) ?? runsc.holdRestore(record.id, folders.folderOf(record.id))
    held.set(record.id, restore)
    return restore
  }
  const restore = (record: SlotRecord, folder: string): Promise<CommandResult> => {
    const mine = hold(record)
    held.delete(record.id)
    return mine.release(folder)
  }
  const release = async (record: SlotRecord): Promise<void> => {
    held.get(record.id)?.drop()
    held.delete(record.id)
    // an agent may have died between booking it and moving it
    const unbooked = `${nodeCgroup(options)}/${record.id}`
    for (const group of new Set([record.cgroup, unbooked])) {
      await cgroups.kill(group)
      await cgroups.remove(group)
    }
    // "runsc delete" would wait until the dead are reaped, which a slow PID 1 does late, and cost a process
    await runsc.forget(record.id)
    await networks.giveBack(networks.adopt(record.networkIndex))
    await folders.remove(record.id)
  }
  const create = async (shape: SandboxShape): Promise<SlotRecord> => {
    const network = await networks.take()
    const id = `${network.name}-${randomUUID().slice(0, 8)}`
    const record: SlotRecord = {
      id,
      state: 'ahead',
      networkIndex: network.index,
      cgroup: `${nodeCgroup(options)}/${id}`,
      shapeKey: shapeKey(shape),
      imageDigest: shape.image.digest,
      hasVolumes: shape.durableDirs.length > 0,
      memoryMib: shape.memoryMib,
    }
    const log = await folders.make(id)
    try {
      folders.write(record)
      await cgroups.make(record.cgroup)
      const folder = folders.folderOf(id)
      await writeBundle(shape, folder, network.namespacePath)
      const result = await runsc.create(id, folder, log, cgroups.memberFiles(record.cgroup), shape.diskMib)
      const said = result.code === 0 ? [] : await folders.logTail(id, 3)
      mustSucceed(result, 'create', id, said.join('\n'))
      return record
    } catch (cause) {
      await release(record)
      throw cause
    } finally {
      closeLog(log)
    }
  }
  const fill = async (shape: SandboxShape, key: string): Promise<void> => {
    await pause(GVISOR_LIMITS.aheadDelayMs, undefined, { signal: stop.signal, ref: false })
    const record = await create(shape)
    hold(record)
    const oldest = ahead.size < options.sandboxesAheadMax ? undefined : ahead.values().next().value
    ahead.set(key, record)
    if (oldest === undefined) return
    ahead.delete(oldest.shapeKey)
    await release(oldest)
  }
  return {
    take: async (shape) => {
      const key = shapeKey(shape)
      const ready = ahead.get(key)
      ahead.delete(key)
      // one that died meanwhile fails to start, and whoever asked for it asks for another
      return ready ?? create(shape)
    },
    hold,
    restore,
    release,
    makeAhead: (shape) => {
      const key = shapeKey(shape)
      if (options.sandboxesAheadMax === 0 || ahead.has(key) || wanted.has(key) || stop.signal.aborted) return
      wanted.add(key)
      const task = fill(shape, key)
        .catch((cause: unknown) => {
          if (!stop.signal.aborted) options.onNote(`no sandbox could be made ahead: ${String(cause)}`)
        })
        .finally(() => {
          wanted.delete(key)
          background.delete(task)
        })
      background.add(task)
    },
    close: async () => {
      stop.abort()
      await Promise.all(background)
      const all = [...ahead.values()]
      ahead.clear()
      await Promise.all(all.map(release))
      for (const waiting of held.values()) waiting.drop()
    },
  }
}
