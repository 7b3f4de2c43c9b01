import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Assignment } from '@torpor/contracts'
import type { ActorNames, Slot, SlotPhase, StartRequest } from '../domain/slot.ts'
import { replaceFile } from './durable-file.ts'

/** What a restarted agent needs to know of a sandbox that it finds. */
export type SlotRecord = {
  readonly actor: ActorNames
  readonly request: StartRequest
  readonly phase: SlotPhase
  readonly assignment: Assignment
  readonly ipAddress: string
  readonly phasesMs: Readonly<Record<string, number>>
  /** Set by the intent to checkpoint into this generation. */
  readonly generation?: number
}

export interface SlotRecords {
  /** Written before the phase begins. The sandbox does not outlive the machine, so neither need this. */
  write(slot: Slot): void
  remove(actorUid: string): Promise<void>
  all(): Promise<readonly SlotRecord[]>
}

export async function openSlotRecords(folder: string): Promise<SlotRecords> {
  await mkdir(folder, { recursive: true })
  return {
    write(slot) {
      const record = recordOf(slot)
      if (record === undefined) return
      replaceFile(join(folder, `${slot.actor.actorUid}.json`), JSON.stringify(record))
    },
    remove: (actorUid) => rm(join(folder, `${actorUid}.json`), { force: true }),
    async all() {
      const names = (await readdir(folder)).filter((name) => name.endsWith('.json'))
      const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
      return texts.map((text) => JSON.parse(text) as SlotRecord)
    },
  }
}

function recordOf(slot: Slot): SlotRecord | undefined {
  if (slot.assignment === undefined) return undefined
  return {
    actor: slot.actor,
    request: slot.request,
    phase: slot.phase,
    assignment: slot.assignment,
    ipAddress: slot.ipAddress ?? '',
    phasesMs: slot.phasesMs ?? {},
    ...(slot.generation === undefined ? {} : { generation: slot.generation }),
  }
}
