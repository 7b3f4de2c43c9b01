export type Way = {
  readonly kind: 'apt' | 'go' | 'wheel' | 'suite'
  readonly mib: number
  readonly seconds: number
  readonly suite?: string
}

export type PinnedTool = {
  readonly command: string
  readonly wanted: string
  readonly minimum: string
  readonly optional?: boolean
  readonly apt?: object
  readonly go?: object
  readonly wheel?: object
  readonly suite?: object
}

export type MachineFacts = {
  readonly os: string
  readonly arch: string
  readonly distribution: {
    readonly id: string
    readonly family: readonly string[]
    readonly codename: string
  }
  readonly root: boolean
  readonly apt: boolean
  readonly pip: boolean
  readonly go?: { readonly version: string; readonly downloadsToolchain: boolean }
  readonly aptCandidates?: Readonly<Record<string, string>>
}

export type PlannedTool = { readonly name: string; readonly optional: boolean; readonly ways: readonly Way[] }
export type ToolPlan = {
  readonly install: readonly PlannedTool[]
  readonly impossible: readonly PlannedTool[]
}
type Cost = { readonly mib: number; readonly seconds: number }

export declare const TOOL_SETS: Readonly<Record<'none' | 'bus' | 'sandboxes' | 'tests', readonly string[]>>
export declare function planTools(input: {
  readonly missing: readonly string[]
  readonly pinned: Readonly<Record<string, PinnedTool>>
  readonly facts: MachineFacts
}): ToolPlan
export declare function waysFor(tool: PinnedTool, facts: MachineFacts): readonly Way[]
export declare function estimate(plan: ToolPlan, nodeModules?: Cost): Cost
