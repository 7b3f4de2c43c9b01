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
  const answered = known?.actorUid === actorUid ? known.answered : 0
  const key = (known?.actorUid === actorUid ? known.pendingKey : undefined) ?? stage.newKey()
  await writeLedger(stage.dataFolder, { actorUid, answered, pendingKey: key })
  const answer = await callCounter(stage.clock, stage.stack.routerUrl, stage.host, key, stage.signal)
  const wanted = answered + 1
  if (countsIn(answer.text).join() !== [wanted, wanted, wanted].join()) {
    throw fault('INTERNAL', stage.host, {
      detail: `answered "${answer.text}", but its next count is ${wanted}`,
    })
  }
  await writeLedger(stage.dataFolder, { actorUid, answered: wanted })
  return answer
}
