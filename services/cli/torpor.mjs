#!/usr/bin/env node
/** Starts `torpor` on this Node where it is new enough to run TypeScript, else on the one that the project pins. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const MAJOR_MIN = 24
const folder = path.dirname(fileURLToPath(import.meta.url))
const main = path.join(folder, 'main.ts')
const pinned = path.resolve(folder, '../../node_modules/.bin/node')

if (Number(process.versions.node.split('.')[0]) >= MAJOR_MIN) {
  await import(main)
} else if (existsSync(pinned)) {
  const child = spawn(pinned, [main, ...process.argv.slice(2)], { stdio: 'inherit' })
  // Ctrl-C reaches both; the child says when it is done.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  child.on('exit', (code) => process.exit(code ?? 1))
} else {
  console.error(
    `error: torpor needs Node ${MAJOR_MIN} or newer, or the pinned one: run npm ci in the project's folder`,
  )
  process.exitCode = 7
}
