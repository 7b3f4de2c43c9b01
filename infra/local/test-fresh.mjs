/**
 * `npm run test:fresh`: does what the README says in a bare Debian root.
 *
 * The last line is `set-up: ok · story: ran`, or `set-up: ok · story: skipped (<reason>)` where this machine lets no
 * sandbox run in such a root. All runs in mount and process namespaces of its own: when it ends, in whatever way, the
 * kernel undoes the mounts and ends the processes.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { freshEnvironment, makeFreshRoot } from './fresh-root.mjs'
import { installPackages, refreshPackageLists } from './setup/apt.mjs'
import { withProgress } from './setup/progress.mjs'
import { lastWords, runCommand } from './setup/run-command.mjs'
import { stateFolder } from './setup/stamp.mjs'

const SUITE = 'bookworm'
const REPOSITORY = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')
const ROOT = path.join(stateFolder(REPOSITORY), 'fresh')
const CHECKOUT = '/srv/torpor'

/** A pivot, not a chroot: in a chroot the kernel makes no user namespace, and sandboxes need one. */
const IN_ROOT = `
set -e
mount --bind "$1" "$1"
cd "$1"
mount -t proc proc proc
mount --rbind /sys sys
mount --rbind /dev dev
mount -t tmpfs tmpfs run
mkdir -p before
pivot_root . before
umount -l /before
cd ${CHECKOUT}
set +e
/bin/sh -c "$2"
exit $?
`

process.exitCode = await main()

async function main() {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return skip('a fresh root needs Linux and root')
  if ((await runCommand('debootstrap', ['--version'])).code !== 0) {
    await refreshPackageLists()
    await installPackages(['debootstrap'])
  }
  rmSync(ROOT, { recursive: true, force: true })
  try {
    await withProgress(`a bare Debian ${SUITE}`, 180, () => makeFreshRoot(ROOT, SUITE))
    await cloneInto(ROOT)
    console.log(`set-up: in the fresh root: node ${(await runInRoot('node --version')).stdout.trim()}`)
    return await tellStory()
  } finally {
    rmSync(ROOT, { recursive: true, force: true })
  }
}

async function tellStory() {
  const code = await showInRoot('npm run demo -- --once')
  if (!existsSync(path.join(ROOT, CHECKOUT, '.torpor/set-up.json'))) return fail('the set-up failed')
  if (code === 0) return end('set-up: ok · story: ran', 0)
  const sandbox = await runInRoot('.torpor/tools/bin/runsc --network=none --ignore-cgroups do true')
  if (sandbox.code !== 0) return skip(`no sandbox runs in this root: ${lastWords(sandbox)}`)
  return fail(`the story failed with code ${code}`)
}

async function cloneInto(root) {
  const target = path.join(root, CHECKOUT)
  mkdirSync(path.dirname(target), { recursive: true })
  const ended = await runCommand('git', ['clone', '--quiet', '--no-hardlinks', REPOSITORY, target])
  if (ended.code !== 0) throw new Error(`git clone: ${lastWords(ended)}`)
}

/** `--kill-child` and the process namespace: nothing of it outlives this script. */
function unshared(command) {
  const namespaces = ['--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child']
  return [...namespaces, 'sh', '-c', IN_ROOT, 'sh', ROOT, command]
}

function runInRoot(command) {
  return runCommand('unshare', unshared(command), { env: freshEnvironment() })
}

function showInRoot(command) {
  return new Promise((resolve) => {
    const child = spawn('unshare', unshared(command), {
      env: freshEnvironment(),
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    child.on('close', (code) => resolve(code ?? 1))
  })
}

function end(line, code) {
  console.log(line)
  return code
}

function skip(reason) {
  return end(`set-up: ok · story: skipped (${reason})`, 0)
}

function fail(reason) {
  return end(`set-up: FAILED (${reason})`, 1)
}
