/** A bare Debian in a folder: what a new machine has, with an old Node, and this machine's way to the outside. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { readMirror } from './setup/apt.mjs'
import { lastWords, runCommand } from './setup/run-command.mjs'

/** What a new machine has beside the system: debootstrap cannot resolve npm's dependencies, apt can. */
const PACKAGES = ['git', 'nodejs', 'npm']
const CA_BUNDLE = '/etc/ssl/certs/ca-certificates.crt'

/** Settings by which a machine reaches its package registries; never tokens. */
const ENVIRONMENT =
  /^(.*_proxy|.*_(CA|CERT)S?(_.*)?|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|npm_config_registry|PIP_(INDEX_URL|TRUSTED_HOST|CERT))$/i
const NPM_SETTINGS = /^(registry|cafile|proxy|https-proxy|noproxy|strict-ssl)\s*=/

/** @param {string} folder must not exist @param {string} suite such as `bookworm` */
export async function makeFreshRoot(folder, suite) {
  mkdirSync(path.dirname(folder), { recursive: true })
  const args = ['--variant=minbase', '--include=ca-certificates', suite, folder, await readMirror()]
  const ended = await runCommand('debootstrap', args)
  if (ended.code !== 0) throw new Error(`debootstrap: ${lastWords(ended)}`)
  const copies = [CA_BUNDLE, '/etc/resolv.conf', '/etc/hosts', '/etc/pip.conf']
  for (const file of [...copies, ...aptSettings()]) copyInto(folder, file)
  await installInRoot(folder)
  const npmSettings = path.join(homedir(), '.npmrc')
  if (existsSync(npmSettings)) {
    const lines = readFileSync(npmSettings, 'utf8')
      .split('\n')
      .filter((line) => NPM_SETTINGS.test(line))
    writeFileSync(path.join(folder, 'etc/npmrc'), `${lines.join('\n')}\n`)
  }
}

async function installInRoot(folder) {
  const env = { ...freshEnvironment(), DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' }
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', ...PACKAGES]]) {
    const ended = await runCommand('chroot', [folder, 'apt-get', ...args], { env })
    if (ended.code !== 0) throw new Error(`apt-get ${args[0]}: ${lastWords(ended)}`)
  }
}

/** @returns {Record<string, string>} what a shell in the fresh root is started with */
export function freshEnvironment(environment = process.env) {
  const kept = Object.entries(environment).filter(([name]) => ENVIRONMENT.test(name))
  const npmFile = { NPM_CONFIG_GLOBALCONFIG: '/etc/npmrc' }
  return {
    ...Object.fromEntries(kept),
    ...npmFile,
    HOME: homedir(),
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  }
}

function aptSettings() {
  const folder = '/etc/apt/apt.conf.d'
  if (!existsSync(folder)) return []
  const files = readdirSync(folder).map((name) => path.join(folder, name))
  return files.filter((file) => /^\s*Acquire::/m.test(readFileSync(file, 'utf8')))
}

function copyInto(root, file) {
  if (!existsSync(file)) return
  mkdirSync(path.join(root, path.dirname(file)), { recursive: true })
  copyFileSync(file, path.join(root, file))
}
