/** The state of one atespace: the isolation boundary that actors and templates are created in. */
export type Atespace = {
  readonly uid: string
  readonly name: string
  readonly version: number
  readonly createTimeMs: number
}
