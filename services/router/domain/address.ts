import type { EntityRef, Refusal } from '@torpor/contracts'
import { actorRef, checkRef, refuse } from '@torpor/contracts'

/** Where a request wants to go. */
export type Address = {
  readonly kind: 'actor'
  readonly ref: EntityRef
  /** `<atespace>/<actor>`: key of its route, and its name in answers. */
  readonly key: string
  readonly targetPort?: string
}

/** What of a request tells its address. */
export type Addressed = {
  /** `Host`, or the authority of an absolute request target; `:port` is allowed. */
  readonly host: string | undefined
  readonly targetActor: string | undefined
  readonly targetPort: string | undefined
}

/**
 * Reads the address of a request: `torpor-target-actor: <atespace>/<actor>`, else `Host: <actor>.<atespace>.<domain>`.
 * `own` is a Host outside the domain: the router's own pages.
 * @example readAddress({ host: 'c1.demo.actors.localhost:8080', … }, 'actors.localhost')
 */
export function readAddress(said: Addressed, domain: string): Address | Refusal | 'own' {
  if (said.targetActor !== undefined) {
    const [atespace = '', name = '', more] = said.targetActor.split('/')
    if (more !== undefined || !said.targetActor.includes('/')) {
      return refuse('ADDRESS_INVALID', JSON.stringify(said.targetActor))
    }
    return addressOf(atespace, name, said.targetPort)
  }
  if (said.host === undefined) return refuse('ADDRESS_INVALID', 'request', 'has no Host')
  const host = said.host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')
  if (host !== domain && !host.endsWith(`.${domain}`)) return 'own'
  const labels = host.slice(0, -domain.length - 1).split('.')
  const [name = '', atespace = ''] = labels
  if (labels.length !== 2) return refuse('ADDRESS_INVALID', JSON.stringify(said.host))
  return addressOf(atespace, name, said.targetPort)
}

function addressOf(atespace: string, name: string, targetPort: string | undefined): Address | Refusal {
  const ref = actorRef(atespace, name)
  const invalid = checkRef(ref)
  if (invalid !== undefined) return invalid
  const key = `${atespace}/${name}`
  if (targetPort === undefined) return { kind: 'actor', ref, key }
  if (!/^[1-9]\d{0,4}$/.test(targetPort) || Number(targetPort) > 65_535) {
    return refuse('ADDRESS_INVALID', key, `torpor-target-port ${JSON.stringify(targetPort)} is no port`)
  }
  return { kind: 'actor', ref, key, targetPort }
}
