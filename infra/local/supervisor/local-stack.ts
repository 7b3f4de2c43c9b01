import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { readSettings } from '@torpor/contracts'
import { busUsers, type BusUsers } from './bus-users.ts'
import { choosePort } from './choose-port.ts'
import { LOCAL_NODE, clearMachine } from './clear-machine.ts'
import { natsPart, shardsOnDisk } from './nats-part.ts'
import type { PartDefinition, PartEvent } from './part.ts'
import {
  SERVICE_ENTRIES,
  partEnvironment,
  type PartSettings,
  type ServicePart,
  type StackWiring,
} from './part-environment.ts'
import { portClaims, type PortClaims } from './port-claims.ts'
import { postgresPart } from './postgres-part.ts'
import { removeAddresses, writeAddresses } from './stack-addresses.ts'
import { openSupervisor, type PartStatus, type Supervisor } from './supervisor.ts'
import { REPOSITORY, findTool, requireTool } from './tool-paths.ts'

export type LocalStackOptions = {
  readonly dataFolder: string
  readonly sandbox: 'gvisor' | 'simulated'
  /** Ports to ask for; a taken one is replaced by the next that is free, and `onNotice` says so. */
  readonly ports?: Partial<Record<StackPort, number>>
  /** Services to start (default: all of them). */
  readonly services?: readonly ServicePart[]
  readonly controlPlanes?: number
  /** Settings for every part, such as `TORPOR_LOG_LEVEL`. */
  readonly settings?: PartSettings
  readonly onEvent?: (event: PartEvent) => void
  readonly onNotice?: (line: string) => void
  /** Ends the start: what runs is stopped, and the start is rejected. Has no effect once the stack is up. */
  readonly signal?: AbortSignal
}

export type StackPort = 'nats' | 'postgres' | 'router' | 'gate'

export type LocalStack = {
  readonly natsUrl: string
  readonly postgresUrl: string
  readonly routerUrl: string
  readonly dataFolder: string
  readonly status: () => readonly PartStatus[]
  /** SIGKILL to exactly one process; the supervisor starts the part again. */
  readonly killPart: (name: string) => void
  /** Stops every part, the last started first, and ends what sandboxes are left: no agent could look after them. */
  readonly stop: () => Promise<void>
}

const DEFAULT_PORTS: Readonly<Record<StackPort, number>> = {
  nats: 4222,
  postgres: 54_320,
  router: 8_080,
  gate: 8_090,
}
const ALL_SERVICES: readonly ServicePart[] = ['control-plane', 'projector', 'guard', 'node-agent', 'router']
const CONTROL_PLANES_DEFAULT = 2

/**
 * Starts the whole system on this machine: bus, database, control planes, projector, node, router.
 * @throws DataFolderBusy where the data folder is in use; PartNotReady where a part did not come up (the others are
 * stopped first)
 * @example
 * const stack = await startLocalStack({ dataFolder: '.torpor/data', sandbox: 'simulated' })
 * stack.killPart('projector')
 * await stack.stop()
 */
export async function startLocalStack(options: LocalStackOptions): Promise<LocalStack> {
  const { onEvent } = options
  const dataFolder = path.resolve(options.dataFolder)
  const claims = portClaims()
  const supervisor = await openSupervisor({
    dataFolder,
    ...(onEvent ? { onEvent } : {}),
    beforeRelease: async () => {
      removeAddresses(dataFolder)
      if (options.sandbox === 'gvisor') await clearMachine(dataFolder)
      claims.releaseAll()
    },
  })
  const stop = () => supervisor.stop()
  const stopEarly = () => void stop().catch(() => undefined)
  options.signal?.addEventListener('abort', stopEarly)
  for (const part of supervisor.endedOrphans)
    options.onNotice?.(`ended ${part}, left over from a run that was killed`)
  try {
    const wiring = await startEngines(supervisor, options, claims)
    await startServices(supervisor, options, wiring)
    const routerUrl = `http://127.0.0.1:${wiring.routerPort}`
    writeAddresses(dataFolder, { nats: wiring.natsUrl, router: routerUrl })
    return {
      natsUrl: wiring.natsUrl,
      postgresUrl: wiring.postgresUrl,
      routerUrl,
      dataFolder,
      status: () => supervisor.status(),
      killPart: (name) => supervisor.killPart(name),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  } finally {
    options.signal?.removeEventListener('abort', stopEarly)
  }
}

/** The bus and the database, side by side: nothing else can start before them. */
async function startEngines(
  supervisor: Supervisor,
  options: LocalStackOptions,
  claims: PortClaims,
): Promise<StackWiring> {
  const { dataFolder } = supervisor
  const { sandbox } = options
  const ports = await choosePorts(options, claims)
  const { logins, ...bus } = busUsersOf(dataFolder, options.settings)
  const nats = natsPart({
    binary: requireTool('nats-server'),
    folder: natsFolder(dataFolder),
    port: ports.nats,
    ...bus,
  })
  const startPostgres = async () => {
    const { part, url } = await postgresPart({
      folder: path.join(dataFolder, 'postgres'),
      port: ports.postgres,
    })
    await supervisor.startPart(part)
    return url
  }
  const [natsUrl, postgresUrl] = await bothOrNeither(supervisor.startPart(nats), startPostgres())
  const store = path.join(dataFolder, 'objects')
  mkdirSync(store, { recursive: true })
  return {
    natsUrl,
    logins,
    postgresUrl,
    routerPort: ports.router,
    gatePort: ports.gate,
    dataFolder,
    storeUrl: `file://${store}`,
    sandbox,
    runsc: findTool('runsc'),
    nodeName: LOCAL_NODE,
    settings: options.settings ?? {},
  }
}

const natsFolder = (dataFolder: string): string => path.join(dataFolder, 'nats')

/** Users for the shards that a new system gets, or that the one in this folder has. */
function busUsersOf(dataFolder: string, settings: PartSettings = {}): BusUsers {
  const { TORPOR_SHARDS: wanted } = readSettings({ ...process.env, ...settings })
  const folder = natsFolder(dataFolder)
  return busUsers(path.join(folder, 'users'), Math.max(wanted, shardsOnDisk(folder)), LOCAL_NODE)
}

async function startServices(
  supervisor: Supervisor,
  options: LocalStackOptions,
  wiring: StackWiring,
): Promise<void> {
  const wanted = options.services ?? ALL_SERVICES
  const replicas = options.controlPlanes ?? CONTROL_PLANES_DEFAULT
  const start = (service: ServicePart, instance = 1, name: string = service) =>
    supervisor.startPart(servicePart(name, service, instance, wiring))
  if (wanted.includes('control-plane')) {
    const instances = Array.from({ length: replicas }, (_, index) => index + 1)
    await allOrThrow(
      instances.map((instance) => start('control-plane', instance, `control-plane-${instance}`)),
    )
  }
  const isWanted = (service: ServicePart) => wanted.includes(service)
  await allOrThrow((['projector', 'guard'] as const).filter(isWanted).map((service) => start(service)))
  await allOrThrow((['node-agent', 'router'] as const).filter(isWanted).map((service) => start(service)))
}

function servicePart(
  name: string,
  service: ServicePart,
  instance: number,
  wiring: StackWiring,
): PartDefinition {
  return {
    name,
    command: process.execPath,
    args: [path.join(REPOSITORY, SERVICE_ENTRIES[service])],
    env: partEnvironment(service, instance, wiring),
    cwd: REPOSITORY,
    readyWhen: { kind: 'ready-line' },
  }
}

async function choosePorts(
  options: LocalStackOptions,
  claims: PortClaims,
): Promise<Readonly<Record<StackPort, number>>> {
  const chosen = { ...DEFAULT_PORTS, ...options.ports }
  for (const name of Object.keys(DEFAULT_PORTS) as StackPort[]) {
    const { port, notice } = await choosePort(name, chosen[name], claims.claim)
    if (notice) options.onNotice?.(notice)
    chosen[name] = port
  }
  return chosen
}

/** Waits for all, so that nothing starts behind the back of whoever stops the rest after a failure. */
async function allOrThrow<Value>(starts: readonly Promise<Value>[]): Promise<readonly Value[]> {
  const outcomes = await Promise.allSettled(starts)
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failed) throw failed.reason
  return Promise.all(starts)
}

async function bothOrNeither(
  first: Promise<string>,
  second: Promise<string>,
): Promise<readonly [string, string]> {
  await Promise.allSettled([first, second])
  return Promise.all([first, second])
}
