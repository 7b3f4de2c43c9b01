import { execFileSync } from 'node:child_process'
import { mkdir, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { connectNats } from '@torpor/adapter-nats'
import type { Actor, CloudEvent } from '@torpor/contracts'
import { fault, sleep, systemClock } from '@torpor/contracts'
import { createClient } from '@torpor/sdk'
import type { TorporClient } from '@torpor/sdk'
import { buildCounterImage } from '../../infra/images/build-counter-image.ts'
import { awaitCondition } from '../../infra/local/story/await-condition.ts'
import { startLocalStack } from '../../infra/local/supervisor/local-stack.ts'
import type { LocalStack } from '../../infra/local/supervisor/local-stack.ts'
import { removeData } from '../../infra/local/supervisor/remove-data.ts'
import { REPOSITORY, requireTool } from '../../infra/local/supervisor/tool-paths.ts'
import type { BareSandbox } from './bare/bare-sandbox.ts'
import { startBareSandbox } from './bare/bare-sandbox.ts'
import type { BenchmarkOptions } from './benchmark.ts'

const ATESPACE = 'bench'
const PORT = 8080
const READY_MS_MAX = 180_000

/** Memory that an actor holds: how much, and of what. */
export type Ballast = { readonly mib: number; readonly fill: 'random' | 'zero' | 'half' }

export type BenchActor = {
  readonly actor: ReturnType<TorporClient['actor']>
  /** One request through the router; its milliseconds from sending to the last byte. */
  call(): Promise<number>
}

/** A whole Torpor with synced log and real sandboxes in a folder of its own, and the sandbox alone beside it. */
export type BenchStack = {
  readonly client: TorporClient
  readonly versions: Readonly<Record<string, string>>
  /** Makes a template with that ballast and one actor of it, which runs when this resolves. */
  makeActor(name: string, ballast: Ballast, detachDelay: string): Promise<BenchActor>
  /** The same without Torpor; it runs when this resolves. */
  makeBare(tag: string, ballast: Ballast): Promise<BareSandbox>
  /**
   * Waits for what the last step left to do, and touches as much memory as the next one takes. A virtual machine that gives
   * free memory back to its host waits for the host at the first touch of each page, and without this it would be chance
   * which arm of a pair has to.
   */
  settle(ballast: Ballast): Promise<void>
  /** Waits for something to be true of an actor. */
  until(handle: BenchActor, what: string, hold: (actor: Actor) => boolean): Promise<Actor>
  /** Events of the bench's actors since it began, by actor name. */
  eventsOf(name: string): readonly CloudEvent[]
  end(): Promise<void>
}

/** Between a suspend and a wake, and the other way round: what the one leaves to do is not timed with the other. */
const SETTLE_MS = 1_500
/** Beside what an actor holds: what its sandbox, the file cache and the parts of the stack take meanwhile. */
const WARM_MIB_MORE = 512
/** Of every bench on a whole stack. */
export const BENCH_FOLDER = join(REPOSITORY, '.torpor', 'bench-stack')

/** @throws DataFolderBusy where another bench runs: the two would measure each other */
export async function startBenchStack({ print, signal }: BenchmarkOptions): Promise<BenchStack> {
  await mkdir(BENCH_FOLDER, { recursive: true })
  // one that was killed left its processes, sandboxes and files
  await removeData(BENCH_FOLDER)
  const stack = await startLocalStack({
    dataFolder: BENCH_FOLDER,
    sandbox: 'gvisor',
    onNotice: print,
    signal,
  })
  try {
    return await prepareBench(stack, signal)
  } catch (cause) {
    await stack.stop()
    throw cause
  }
}

async function prepareBench(stack: LocalStack, signal: AbortSignal): Promise<BenchStack> {
  const nats = await connectNats({ url: stack.natsUrl, name: 'bench', replicas: 1 })
  const client = createClient({ bus: nats.bus, feed: nats.feed })
  const { reference: image } = await buildCounterImage(join(BENCH_FOLDER, 'image'))
  const ending = new AbortController()
  const events = collectEvents(client, ending.signal)
  await client.apply({ apiVersion: 'torpor.dev/v1', kind: 'Atespace', metadata: { name: ATESPACE } })
  await client.apply({
    apiVersion: 'torpor.dev/v1',
    kind: 'WorkerPool',
    metadata: { name: 'bench' },
    spec: {
      replicas: 1,
      sandboxClasses: [{ name: 'gvisor' }],
      template: { resources: { limits: { cpu: '8', memory: '12Gi' } } },
    },
  })
  const bares: BareSandbox[] = []
  return {
    client,
    versions: { node: process.version, 'nats-server': nats.info.serverVersion, runsc: runscVersion() },
    makeActor: (name, ballast, detachDelay) =>
      makeActor(client, stack.routerUrl, image, name, ballast, detachDelay),
    async makeBare(tag, ballast) {
      const bare = startBareSandbox({
        runsc: requireTool('runsc'),
        folder: join(BENCH_FOLDER, `bare-${tag}`),
        rootfs: unpack(image, join(BENCH_FOLDER, 'bare-rootfs')),
        args: ['/bin/node', '/app/counter.js'],
        env: ['PATH=/bin', `BALLAST_MIB=${ballast.mib}`, `BALLAST_FILL=${ballast.fill}`, `PORT=${PORT}`],
        port: PORT,
        memoryMib: 256 + ballast.mib,
        tag,
        network: '10.213',
      })
      bares.push(bare)
      await bare.start()
      return bare
    },
    async settle({ mib }) {
      signal.throwIfAborted()
      await sleep(systemClock, SETTLE_MS)
      const bytes = (2 * mib + WARM_MIB_MORE) * 2 ** 20
      execFileSync(process.execPath, ['--eval', `Buffer.alloc(${bytes}, 1)`])
    },
    until: ({ actor }, what, hold) =>
      awaitCondition(
        systemClock,
        what,
        READY_MS_MAX,
        async () => {
          const found = await actor.get()
          return hold(found) ? found : undefined
        },
        signal,
      ),
    eventsOf: (name) => events.get(name) ?? [],
    async end() {
      ending.abort()
      for (const bare of bares) await bare.end()
      await nats.close()
      await stack.stop()
      await rm(BENCH_FOLDER, { recursive: true, force: true })
    },
  }
}

async function makeActor(
  client: TorporClient,
  routerUrl: string,
  image: string,
  name: string,
  { mib, fill }: Ballast,
  detachDelay: string,
): Promise<BenchActor> {
  const spec = {
    sandboxClasses: [{ name: 'gvisor' as const }],
    containers: [
      {
        name: 'counter',
        image,
        env: [
          { name: 'BALLAST_MIB', value: String(mib) },
          { name: 'BALLAST_FILL', value: fill },
        ],
        ports: [{ containerPort: PORT }],
        wakeupProbe: { httpGet: { path: '/healthz', port: PORT }, timeout: '60s' },
        volumeMounts: [{ name: 'data', mountPath: '/data' }],
      },
    ],
    volumes: [{ name: 'data', durableDir: {} }],
    resources: { limits: { cpu: '2', memory: `${256 + mib}Mi`, disk: '1Gi' } },
    snapshotConfig: { uploadDelay: '1h', detachDelay },
  }
  const metadata = { atespace: ATESPACE, name }
  await client.apply({ apiVersion: 'torpor.dev/v1', kind: 'ActorTemplate', metadata, spec })
  await awaitCondition(systemClock, `template ${name}`, READY_MS_MAX, async () => {
    const { golden } = await client.template(ATESPACE, name).get()
    if (golden.phase === 'FAILED') throw fault('TEMPLATE_FAILED', name, { detail: golden.errorMessage ?? '' })
    return golden.phase === 'READY' ? true : undefined
  })
  const actor = client.actor(ATESPACE, name)
  await actor.create({ template: name })
  const bench = { actor, call: () => callOnce(routerUrl, `${name}.${ATESPACE}.actors.localhost`) }
  await bench.call()
  return bench
}

function callOnce(routerUrl: string, host: string): Promise<number> {
  const beganMs = performance.now()
  const { hostname, port } = new URL(routerUrl)
  return new Promise((resolve, reject) => {
    const call = request(
      { hostname, port, path: '/', agent: false, headers: { host, connection: 'close' } },
      (answer) => {
        answer.resume()
        answer.on('error', reject)
        answer.on('end', () => {
          if (answer.statusCode === 200) resolve(performance.now() - beganMs)
          else reject(fault('UPSTREAM_INVALID', host, { detail: `status ${answer.statusCode}` }))
        })
      },
    )
    call.on('error', reject)
    call.end()
  })
}

function collectEvents(client: TorporClient, signal: AbortSignal): ReadonlyMap<string, CloudEvent[]> {
  const byName = new Map<string, CloudEvent[]>()
  const follow = async (): Promise<void> => {
    for await (const event of client.events({ atespace: ATESPACE, from: 'now', signal })) {
      const name = event.subject.split('/')[2] ?? ''
      byName.set(name, [...(byName.get(name) ?? []), event])
    }
  }
  void follow().catch((cause: unknown) => {
    if (!signal.aborted) process.stderr.write(`events ended: ${String(cause)}\n`)
  })
  return byName
}

function unpack(image: string, folder: string): string {
  const layout = image.replace(/^oci:/, '')
  execFileSync('umoci', ['raw', 'unpack', '--image', layout, folder], { stdio: 'ignore' })
  return folder
}

const runscVersion = (): string =>
  execFileSync(requireTool('runsc'), ['--version'], { encoding: 'utf8' }).split('\n')[0] ?? 'unknown'
