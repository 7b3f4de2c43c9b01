import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { NatsUser } from '@torpor/adapter-nats/server-config'
import { busUser, userName } from '../../deploy/nats/permissions.ts'
import type { BusRole } from '../../deploy/nats/permissions.ts'
import type { ServicePart } from './part-environment.ts'

const PASSWORD_BYTES = 32

/** Who a part is on the bus. */
export type BusLogin = { readonly user: string; readonly passwordFile: string }

export type BusUsers = {
  readonly users: readonly NatsUser[]
  readonly userOfUnnamed: string
  /** Of the parts that speak on the bus. */
  readonly logins: Readonly<Record<Exclude<ServicePart, 'guard'>, BusLogin>>
}

/**
 * The users of a local bus: one for each kind of part, and one for people, who name none. Each has a password in a file that
 * only its owner reads; what is missing of them is made, so that a folder from before there were users gets its own.
 * @param folder where the passwords lie
 */
export function busUsers(folder: string, shards: number, node: string): BusUsers {
  const roles = {
    'control-plane': { kind: 'control-plane', shards },
    projector: { kind: 'projector', shards },
    'node-agent': { kind: 'node-agent', node },
    router: { kind: 'router' },
  } as const satisfies Record<string, BusRole>
  const anyone: BusRole = { kind: 'anyone' }
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const login = (role: BusRole): BusLogin => {
    const user = userName(role)
    return { user, passwordFile: path.join(folder, `${user}.password`) }
  }
  return {
    users: [...Object.values(roles), anyone].map((role) => busUser(role, password(login(role).passwordFile))),
    userOfUnnamed: userName(anyone),
    logins: {
      'control-plane': login(roles['control-plane']),
      projector: login(roles.projector),
      'node-agent': login(roles['node-agent']),
      router: login(roles.router),
    },
  }
}

function password(file: string): string {
  const kept = readKept(file)
  if (kept !== '') return kept
  const made = randomBytes(PASSWORD_BYTES).toString('base64url')
  writeFileSync(`${file}.new`, `${made}\n`, { mode: 0o600 })
  renameSync(`${file}.new`, file)
  return made
}

function readKept(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return ''
  }
}
