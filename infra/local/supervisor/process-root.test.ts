import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { rootCommand } from './process-root.ts'
import { findTool } from './tool-paths.ts'

const isRoot = process.getuid?.() === 0

test('without a reaper there is nothing to enter', () => {
  expect(rootCommand('node', ['main.ts'], { tini: undefined, hidesNetSettings: true })).toBeUndefined()
})

test('the mount namespace is made only where the kernel shows the sign', () => {
  const plain = rootCommand('node', ['main.ts'], { tini: 'tini', hidesNetSettings: false })
  expect(plain).toEqual(['tini', '-s', '--', 'node', 'main.ts'])
  const hidden = rootCommand('node', ['main.ts'], { tini: 'tini', hidesNetSettings: true })
  expect(hidden?.slice(0, 5)).toEqual(['tini', '-s', '--', 'unshare', '--mount'])
  expect(hidden?.slice(-2)).toEqual(['node', 'main.ts'])
})

test.skipIf(!isRoot || !findTool('tini'))(
  'a process that enters it keeps its arguments and output, and runs below a reaper',
  () => {
    const code = `import { enterProcessRoot } from ${JSON.stringify(path.join(import.meta.dirname, 'process-root.ts'))}
    import { existsSync, readFileSync } from 'node:fs'
    enterProcessRoot()
    const parent = readFileSync('/proc/' + process.ppid + '/comm', 'utf8').trim()
    console.log(JSON.stringify({ parent, argument: process.argv.at(-1), shown: existsSync('/proc/sys/net/core/rmem_default') }))`
    const { TORPOR_PROCESS_ROOT: _, ...env } = process.env
    const args = ['--input-type=module', '-e', code, '--', 'once']
    const output = execFileSync(process.execPath, args, { env, encoding: 'utf8' })
    expect(JSON.parse(output)).toEqual({ parent: 'tini', argument: 'once', shown: false })
    expect(existsSync('/proc/sys/net/core')).toBe(true)
  },
)
