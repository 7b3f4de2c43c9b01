import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { SandboxRuntime } from '@torpor/contracts'
import {
  describeSandboxRuntimeLaws,
  type SandboxLawsWorld,
} from '@torpor/contracts/laws/sandbox-runtime-laws'
import { afterAll, beforeAll, describe } from 'vitest'
import { buildCounterImage } from '../../images/build-counter-image.ts'
import { openGvisorRuntime } from './index.ts'
import { gvisorForTests } from './runsc-for-tests.ts'

const found = await gvisorForTests()
const tag = `l${process.pid % 10_000}`
let stateDir: string
let image: string

describe.skipIf(found.runscPath === undefined)(`gVisor ${found.reason}`, () => {
  beforeAll(async () => {
    stateDir = await mkdtemp('/tmp/tp-gvisor-laws-')
    image = (await buildCounterImage(join(stateDir, 'layout'))).reference
  })
  afterAll(() => rm(stateDir, { recursive: true, force: true }))

  describeSandboxRuntimeLaws('gVisor', makeWorld)
})

async function makeWorld(): Promise<SandboxLawsWorld> {
  const runscPath = found.runscPath ?? ''
  const open = (): Promise<SandboxRuntime> =>
    openGvisorRuntime({ runscPath, stateDir, runDir: `/run/tp-${tag}`, nodeTag: tag })
  let runtime = await open()
  return {
    runtime,
    port: 8080,
    folder: stateDir,
    counter: (sandboxId) => ({
      sandboxId,
      image,
      command: [],
      args: [],
      env: {},
      cpuMilli: 1_000,
      memoryMib: 256,
      diskMib: 512,
      durableDirs: [{ name: 'data', mountPath: '/data' }],
      workerCgroup: '',
    }),
    endProcess: async (_, ipAddress) => {
      await fetch(`http://${ipAddress}:8080/exit`, { headers: { connection: 'close' } }).catch(
        () => undefined,
      )
    },
    reopen: async () => {
      // an agent that died keeps nothing ahead alive: its successor must find the rest all the same
      await runtime.close()
      return (runtime = await open())
    },
    close: () => runtime.close(),
  }
}
