/** Runs the verbs of one thing one after the other, those of different things side by side. */
export type Turns = <T>(id: string, verb: () => Promise<T>) => Promise<T>

export function turns(): Turns {
  const last = new Map<string, Promise<void>>()
  return (id, verb) => {
    const turn = (last.get(id) ?? Promise.resolve()).then(verb)
    const settled = turn.then(
      () => undefined,
      () => undefined,
    )
    last.set(id, settled)
    void settled.finally(() => {
      if (last.get(id) === settled) last.delete(id)
    })
    return turn
  }
}
