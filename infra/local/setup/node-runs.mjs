import { installPackages, refreshPackageLists } from './apt.mjs'
import { lastWords, runCommand } from './run-command.mjs'
import { pinnedNode } from './node-modules.mjs'

/** Libraries that Node is linked with and that a bare system lacks, by the package that has them. */
const PACKAGES = {
  'libatomic.so.1': { debian: 'libatomic1', fedora: 'libatomic', alpine: 'libatomic', arch: 'gcc-libs' },
}

/**
 * Runs the pinned Node once, and brings the library that it misses where the distribution's packages can.
 * @throws Error that names the package to install
 */
export async function makeNodeRun(root, facts) {
  const first = await runCommand(pinnedNode(root), ['--version'])
  if (first.code === 0) return
  const library = /(\S+\.so\.\d+): cannot open shared object/.exec(first.stderr)?.[1]
  const packages = PACKAGES[library]
  const family = facts.distribution.family.find((id) => packages?.[id])
  if (!family) throw new Error(`the pinned Node does not run here: ${lastWords(first)}`)
  if (family !== 'debian' || !facts.apt || !facts.root)
    throw new Error(
      `the pinned Node needs ${library}: install the package ${packages[family]}, then run this again`,
    )
  await refreshPackageLists()
  await installPackages([packages.debian])
  const second = await runCommand(pinnedNode(root), ['--version'])
  if (second.code !== 0) throw new Error(`the pinned Node does not run here: ${lastWords(second)}`)
}
