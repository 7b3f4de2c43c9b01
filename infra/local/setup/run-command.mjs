import { spawn } from 'node:child_process'

const OUTPUT_BYTES_MAX = 1024 * 1024

/**
 * Runs a command to its end and never throws: a command that is not there ends with code 127.
 * @param {string} command @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, input?: string, timeoutMs?: number }} [options]
 * @returns {Promise<{ code: number, stdout: string, stderr: string }>}
 */
export function runCommand(command, args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: options.env ?? process.env,
      stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      timeout: options.timeoutMs ?? 0,
      killSignal: 'SIGKILL',
    })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk) => (stdout = (stdout + chunk).slice(-OUTPUT_BYTES_MAX)))
    child.stderr.on('data', (chunk) => (stderr = (stderr + chunk).slice(-OUTPUT_BYTES_MAX)))
    child.on('error', (error) => resolve({ code: 127, stdout, stderr: `${stderr}${error.message}` }))
    child.on('close', (code) => resolve({ code: code ?? 1, stdout, stderr }))
    child.stdin?.end(options.input)
  })
}

/** The last lines of what a failed command said, in one line. */
export function lastWords({ code, stdout, stderr }) {
  const lines = `${stdout}\n${stderr}`.split('\n').filter((line) => line.trim() !== '')
  return `exit ${code}: ${lines.slice(-3).join(' | ').slice(-600)}`
}
