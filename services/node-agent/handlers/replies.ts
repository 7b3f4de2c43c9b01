import type { Refusal, Reply } from '@torpor/contracts'

export const accepted = <Result>(result: Result): Reply<Result> => ({ ok: true, result })
export const refused = (error: Refusal): Reply<never> => ({ ok: false, error })

/** The command was taken; what comes of it is a report. */
export const TAKEN: Reply<null> = { ok: true, result: null }
