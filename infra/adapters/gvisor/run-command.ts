import { spawn } from 'node:child_process'

export type CommandResult = {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  readonly ms: number
}

export type CommandOptions = {
  /** Absent: it may take as long as its signal lets it. */
  readonly timeoutMs?: number
  readonly input?: string
  /** File descriptor that takes what the command, and what it leaves running, writes. */
  readonly outputFd?: number
  readonly outputBytesMax?: number
  /** Kills it; the result is then the code 137. */
  readonly signal?: AbortSignal
}

/**
 * Runs a program to its end, within a time. Never throws for what the program says: that is its code.
 * A program that does not end in time is killed and gets the code 124.
 */
export function runCommand(
  file: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  const begun = performance.now()
  const bytesMax = options.outputBytesMax ?? 1024 * 1024
  const out = options.outputFd ?? 'pipe'
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: [options.input === undefined ? 'ignore' : 'pipe', out, out] })
    const stdout = collect(child.stdout, bytesMax)
    const stderr = collect(child.stderr, bytesMax)
    let late = false
    const end = (): void => void child.kill('SIGKILL')
    if (options.signal?.aborted) end()
    options.signal?.addEventListener('abort', end, { once: true })
    const tooLate = (): void => {
      late = true
      end()
    }
    const timer = options.timeoutMs === undefined ? undefined : setTimeout(tooLate, options.timeoutMs)
    child.on('error', (cause) => {
      clearTimeout(timer)
      reject(cause)
    })
    // "exit", not "close": a detached sandbox may hold the pipes for ever
    child.on(options.outputFd === undefined ? 'close' : 'exit', (code) => {
      clearTimeout(timer)
      options.signal?.removeEventListener('abort', end)
      const ms = performance.now() - begun
      resolve({ code: late ? 124 : (code ?? 137), stdout: stdout(), stderr: stderr(), ms })
    })
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(options.input)
  })
}

function collect(stream: NodeJS.ReadableStream | null, bytesMax: number): () => string {
  const parts: Buffer[] = []
  let bytes = 0
  stream?.on('data', (part: Buffer) => {
    if (bytes < bytesMax) parts.push(part.subarray(0, bytesMax - bytes))
    bytes += part.length
  })
  return () => Buffer.concat(parts).toString('utf8')
}
