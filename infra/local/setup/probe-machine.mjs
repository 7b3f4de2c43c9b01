import { accessSync, closeSync, constants, existsSync, openSync, readFileSync, statfsSync } from 'node:fs'
import { runCommand } from './run-command.mjs'

/** What the plan has to know of this machine; nothing here changes it. */
export async function probeMachine(root) {
  const [go, pip, apt] = await Promise.all([probeGo(), probePip(), probeApt()])
  return {
    os: process.platform,
    arch: process.arch,
    distribution: readDistribution(),
    root: process.getuid?.() === 0,
    cgroup: probeCgroup(),
    diskFreeMib: probeDiskFreeMib(root),
    go,
    pip,
    apt,
  }
}

/** @returns {{ id: string, family: string[], codename: string }} */
function readDistribution() {
  const fields = {}
  if (existsSync('/etc/os-release'))
    for (const line of readFileSync('/etc/os-release', 'utf8').split('\n')) {
      const [, key, value] = /^([A-Z_]+)="?([^"]*)"?$/.exec(line) ?? []
      if (key) fields[key] = value
    }
  const id = fields.ID ?? process.platform
  return {
    id,
    family: [id, ...(fields.ID_LIKE ?? '').split(' ')].filter(Boolean),
    codename: fields.VERSION_CODENAME ?? '',
  }
}

function probeCgroup() {
  if (existsSync('/sys/fs/cgroup/cgroup.controllers')) return 'v2'
  return existsSync('/sys/fs/cgroup/memory') ? 'v1' : 'none'
}

function probeDiskFreeMib(root) {
  const { bavail, bsize } = statfsSync(root)
  return Math.floor((bavail * bsize) / (1024 * 1024))
}

/** `downloadsToolchain`: from Go 1.21 on a newer Go that a module asks for is fetched, unless that was switched off. */
async function probeGo() {
  const { code, stdout } = await runCommand('go', ['env', 'GOVERSION', 'GOTOOLCHAIN'])
  if (code !== 0) return undefined
  const [version = '', toolchain = ''] = stdout.trim().split('\n')
  return { version: version.replace(/^go/, ''), downloadsToolchain: /auto/.test(toolchain) }
}

async function probePip() {
  return (await runCommand('python3', ['-m', 'pip', '--version'])).code === 0
}

async function probeApt() {
  return (await runCommand('apt-get', ['--version'])).code === 0
}

/** @returns {string} one line; opening for read and write is what a hypervisor will do, so that is what is tried */
export function describeMicroVmSupport(device = '/dev/kvm') {
  const off = (why) => `micro-VM support: off (${why}); gVisor works all the same`
  if (!existsSync(device)) return off(`no ${device}`)
  try {
    accessSync(device, constants.R_OK | constants.W_OK)
    closeSync(openSync(device, 'r+'))
    return `micro-VM support: on (${device} opens); the sandboxes of this version are gVisor's`
  } catch (error) {
    return off(`${device}: ${error.code}`)
  }
}
