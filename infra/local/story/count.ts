import { fault } from '@torpor/contracts'
import { callCounter, countsIn } from './counter-client.ts'
import type { CounterAnswer } from './counter-client.ts'
import { readLedger, writeLedger } from './ledger.ts'
import type { Stage } from './stage.ts'

/**
 * One request of the story. The key is in the ledger before it is sent and the count after it is answered, so that what the
 * counter says can be held against what was answered, whatever was killed meanwhile and in whichever run.
 */
export async function countOnce(stage: Stage, actorUid: string): Promise<CounterAnswer> {
  const known = await readLedger(stage.dataFolder)
  const ledger = known?.actorUid === actorUid ? known : { actorUid, answered: 0 }
  const key = ledger.pendingKey ?? stage.newKey()
  await writeLedger(stage.dataFolder, { ...ledger, pendingKey: key })
  const answer = await callCounter(stage.clock, stage.stack.routerUrl, stage.host, key, stage.signal)
  const counts = countsIn(answer.text)
  const wanted = ledger.answered === undefined ? (counts[0] ?? 0) : ledger.answered + 1
  if (counts.join() !== [wanted, wanted, wanted].join()) {
    throw fault('INTERNAL', stage.host, {
      detail: `answered "${answer.text}", but its next count is ${wanted}`,
    })
  }
  await writeLedger(stage.dataFolder, { actorUid, answered: wanted })
  return answer
}
