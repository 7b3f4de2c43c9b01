import {
  copyFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { lastWords, runCommand } from './run-command.mjs'

const LISTS = '/var/lib/apt/lists'
const LISTS_AGE_MS_MAX = 24 * 3_600_000
const ENVIRONMENT = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' }

/** Package lists that are missing or older than a day are fetched; a mirror that is away is no reason to stop. */
export async function refreshPackageLists() {
  if (!packageListsAreStale()) return
  const { code, stdout, stderr } = await runCommand('apt-get', ['update'], { env: ENVIRONMENT })
  if (code !== 0) console.log(`set-up: apt-get update failed (${lastWords({ code, stdout, stderr })})`)
}

export function packageListsAreStale(now = Date.now()) {
  if (!existsSync(LISTS)) return true
  const lists = readdirSync(LISTS).filter((name) => name.includes('_Packages'))
  if (lists.length === 0) return true
  const refreshedAt = existsSync(path.join(LISTS, 'partial'))
    ? statSync(path.join(LISTS, 'partial')).mtimeMs
    : 0
  return now - refreshedAt > LISTS_AGE_MS_MAX
}

/** @param {readonly string[]} packages @returns {Promise<Record<string, string>>} versions that could be installed */
export async function readCandidates(packages) {
  const candidates = {}
  if (packages.length === 0) return candidates
  const { stdout } = await runCommand('apt-cache', ['policy', ...packages], { env: ENVIRONMENT })
  let current = ''
  for (const line of stdout.split('\n')) {
    if (/^\S+:$/.test(line)) current = line.slice(0, -1)
    const version = /^ {2}Candidate: (\S+)$/.exec(line)?.[1]
    if (version && version !== '(none)') candidates[current] = version
  }
  return candidates
}

/** @param {readonly string[]} packages */
export async function installPackages(packages) {
  const args = ['install', '-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=300', ...packages]
  const ended = await runCommand('apt-get', args, { env: ENVIRONMENT })
  if (ended.code !== 0) throw new Error(`apt-get install ${packages.join(' ')}: ${lastWords(ended)}`)
}

/**
 * Takes one file out of a package of another suite. A private package list is used, so that neither the machine's
 * sources nor its packages change; the mirror is the one that the machine's own sources name.
 */
export async function fetchFromSuite(way, target) {
  const folder = mkdtempSync(path.join(tmpdir(), 'torpor-suite-'))
  try {
    const options = privateLists(folder, way.suite, await readMirror())
    await must('apt-get', [...options, 'update'], folder)
    await must('apt-get', [...options, 'download', `${way.package}/${way.suite}`], folder)
    const archive = readdirSync(folder).find((name) => name.endsWith('.deb'))
    if (!archive) throw new Error(`${way.suite} has no package ${way.package}`)
    await must('dpkg-deb', ['-x', archive, 'content'], folder)
    mkdirSync(path.dirname(target), { recursive: true })
    copyFileSync(path.join(folder, 'content', way.member), target)
    chmodSync(target, 0o755)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function privateLists(folder, suite, mirror) {
  for (const name of ['lists/partial', 'cache/archives/partial'])
    mkdirSync(path.join(folder, name), { recursive: true })
  chmodSync(folder, 0o755)
  const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg'
  const signedBy = existsSync(keyring) ? `[signed-by=${keyring}] ` : ''
  writeFileSync(path.join(folder, 'sources.list'), `deb ${signedBy}${mirror} ${suite} main\n`)
  const settings = {
    'Dir::Etc::sourcelist': path.join(folder, 'sources.list'),
    'Dir::Etc::sourceparts': '-',
    'Dir::State::lists': path.join(folder, 'lists'),
    'Dir::Cache': path.join(folder, 'cache'),
    'APT::Sandbox::User': 'root',
    'Acquire::Languages': 'none',
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`])
}

/** The site that serves the release this machine runs. */
export async function readMirror() {
  const args = ['indextargets', '--format', '$(SITE) $(CODENAME)', 'Created-By: Packages']
  const { stdout } = await runCommand('apt-get', args, { env: ENVIRONMENT })
  const codename = (
    await runCommand('sh', ['-c', '. /etc/os-release; echo "$VERSION_CODENAME"'])
  ).stdout.trim()
  const site = stdout
    .split('\n')
    .map((line) => line.split(' '))
    .find(([, name]) => name === codename)?.[0]
  if (!site) throw new Error('the package sources of this machine name no mirror of its release')
  return site
}

async function must(command, args, cwd) {
  const ended = await runCommand(command, args, { cwd, env: ENVIRONMENT })
  if (ended.code !== 0) throw new Error(`${command} ${args.at(-2)} ${args.at(-1)}: ${lastWords(ended)}`)
}
