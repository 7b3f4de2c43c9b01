import type { SandboxRuntimeVersion } from '@torpor/contracts'

/**
 * Why memory that was saved under one runtime cannot be restored under another: the first attribute that differs. Undefined
 * when it can, which takes the same class and the same attributes.
 * @example differingAttribute(saved, offered) === 'cpu_features'
 */
export function differingAttribute(
  saved: SandboxRuntimeVersion,
  offered: SandboxRuntimeVersion,
): string | undefined {
  if (saved.sandboxClass !== offered.sandboxClass) return 'sandboxClass'
  const there = new Map(offered.version.attributes.map(({ key, value }) => [key, value]))
  const differing = saved.version.attributes.find(({ key, value }) => there.get(key) !== value)
  if (differing !== undefined) return differing.key
  const known = new Set(saved.version.attributes.map(({ key }) => key))
  return [...there.keys()].find((key) => !known.has(key))
}

/** True when one of the runtimes can restore what was saved. */
export const canRestore = (
  saved: SandboxRuntimeVersion,
  offered: readonly SandboxRuntimeVersion[],
): boolean => offered.some((runtime) => differingAttribute(saved, runtime) === undefined)
