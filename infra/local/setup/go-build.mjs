import { mkdirSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { lastWords, runCommand } from './run-command.mjs'

/**
 * Builds one pinned module into the tools folder. Its sum is compared with ours before anything is compiled; Go's own
 * checksum database stays on as well.
 */
export async function buildWithGo(way, target) {
  const module = `${way.module}@${way.version}`
  const fetched = await runCommand('go', ['mod', 'download', '-json', module])
  if (fetched.code !== 0) throw new Error(`go mod download ${module}: ${lastWords(fetched)}`)
  const { Sum: sum } = JSON.parse(fetched.stdout)
  if (sum !== way.sum) throw new Error(`${module} has the sum ${sum}, pinned is ${way.sum}`)

  const folder = `${target}.building`
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  try {
    const flags = ['-trimpath', ...(way.ldflags ? ['-ldflags', way.ldflags] : [])]
    const env = { ...process.env, GOBIN: folder, CGO_ENABLED: '0' }
    const built = await runCommand('go', ['install', ...flags, `${way.package}@${way.version}`], { env })
    if (built.code !== 0) throw new Error(`go install ${way.package}: ${lastWords(built)}`)
    renameSync(path.join(folder, path.basename(target)), target)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
