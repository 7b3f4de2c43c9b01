import { rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DataFolderBusy, lockDataFolder, type DataLock } from './data-lock.ts'

/** Ports that a stack of this machine has chosen and that its parts bind only seconds later. */
export type PortClaims = {
  /** Whether it is ours now; false where another living stack chose it. */
  claim(port: number): boolean
  releaseAll(): void
}

/** Claims of a process that died count for nothing. */
export function portClaims(folder = path.join(tmpdir(), 'torpor-ports')): PortClaims {
  const held = new Map<string, DataLock>()
  return {
    claim(port) {
      const place = path.join(folder, String(port))
      try {
        held.set(place, lockDataFolder(place))
        return true
      } catch (cause) {
        // where nothing can be written there are no claims, and the first who binds has it
        return !(cause instanceof DataFolderBusy)
      }
    },
    releaseAll() {
      for (const [place, lock] of held) {
        lock.release()
        removeEmpty(place)
      }
      held.clear()
    },
  }
}

function removeEmpty(place: string): void {
  try {
    rmdirSync(place)
  } catch {
    // somebody claims it already
  }
}
