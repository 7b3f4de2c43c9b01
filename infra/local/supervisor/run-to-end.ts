import { spawn } from 'node:child_process'
import { SUPERVISOR_LIMITS } from './limits.ts'

const WORDS_MAX = 2_000

export type RunOptions = { readonly cwd?: string; readonly input?: string; readonly limitMs?: number }

/**
 * Runs a command to its end.
 * @returns what it wrote to standard output
 * @throws Error with its last words where it ended with another code than 0 or took too long
 */
export function runToEnd(
  command: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const timeout = options.limitMs ?? SUPERVISOR_LIMITS.commandMsMax
  const child = spawn(command, args, { cwd: options.cwd, stdio: 'pipe', timeout, killSignal: 'SIGKILL' })
  const output: Buffer[] = []
  let words = ''
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => (words = (words + chunk.toString()).slice(-WORDS_MAX)))
  child.stdin.on('error', () => undefined)
  child.stdin.end(options.input ?? '')
  child.on('error', reject)
  child.on('close', (code, signal) => {
    if (code === 0) return resolve(Buffer.concat(output).toString())
    reject(new Error(`${command} ${args[0] ?? ''} ended with ${signal ?? code}: ${words.trim()}`))
  })
  return promise
}
