import type { SettingName } from '@torpor/contracts'
import type { BusLogin, BusUsers } from './bus-users.ts'

/** What the parts of one local stack have to know of each other. */
export type StackWiring = {
  readonly natsUrl: string
  readonly logins: BusUsers['logins']
  readonly postgresUrl: string
  readonly routerPort: number
  readonly gatePort: number
  readonly dataFolder: string
  readonly storeUrl: string
  readonly sandbox: 'gvisor' | 'simulated'
  readonly runsc: string | undefined
  readonly nodeName: string
  /** Settings that hold for every part, before its own. */
  readonly settings: PartSettings
}

export type PartSettings = Partial<Record<SettingName, string>>

/** Services with an entry of their own; their part is named after them. */
export type ServicePart = 'control-plane' | 'projector' | 'node-agent' | 'guard' | 'router'

export const SERVICE_ENTRIES: Readonly<Record<ServicePart, string>> = {
  'control-plane': 'services/control-plane/main.ts',
  projector: 'services/projector/main.ts',
  'node-agent': 'services/node-agent/main.ts',
  guard: 'services/node-agent/guard/main.ts',
  router: 'services/router/main.ts',
}

/** The environment of a part. `instance` counts the replicas of a service from 1. */
export function partEnvironment(part: ServicePart, instance: number, wiring: StackWiring): PartSettings {
  const bus = part === 'guard' ? {} : busSettings(wiring, wiring.logins[part])
  const guardSocket = `${wiring.dataFolder}/run/guard.sock`
  const node = {
    TORPOR_NAME: wiring.nodeName,
    TORPOR_DATA_DIR: `${wiring.dataFolder}/node`,
    TORPOR_GUARD_SOCKET: guardSocket,
    TORPOR_SANDBOX: wiring.sandbox,
    ...(wiring.runsc ? { TORPOR_RUNSC: wiring.runsc } : {}),
  }
  const own: Readonly<Record<ServicePart, PartSettings>> = {
    'control-plane': {
      TORPOR_NAME: `control-plane-${instance}`,
      TORPOR_DATA_DIR: `${wiring.dataFolder}/control-plane-${instance}`,
    },
    projector: { TORPOR_NAME: 'projector', TORPOR_POSTGRES_URL: wiring.postgresUrl },
    'node-agent': { ...node, TORPOR_LISTEN: `127.0.0.1:${wiring.gatePort}` },
    guard: node,
    router: { TORPOR_NAME: 'router', TORPOR_LISTEN: `127.0.0.1:${wiring.routerPort}` },
  }
  return { ...bus, TORPOR_STORE: wiring.storeUrl, ...wiring.settings, ...own[part] }
}

const busSettings = ({ natsUrl }: StackWiring, { user, passwordFile }: BusLogin): PartSettings => ({
  TORPOR_NATS_URL: natsUrl,
  TORPOR_NATS_USER: user,
  TORPOR_NATS_PASSWORD_FILE: passwordFile,
})
