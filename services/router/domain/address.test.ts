import { expect, test } from 'vitest'
import { readAddress } from './address.ts'

const DOMAIN = 'actors.localhost'
const LONG = 'a'.repeat(64)
const read = (said: { host?: string; targetActor?: string; targetPort?: string }) =>
  readAddress({ host: undefined, targetActor: undefined, targetPort: undefined, ...said }, DOMAIN)

test.each([
  [{ host: 'c1.demo.actors.localhost' }, 'demo/c1'],
  [{ host: 'c1.demo.actors.localhost:8080' }, 'demo/c1'],
  [{ host: 'C1.Demo.Actors.Localhost.' }, 'demo/c1'],
  [{ targetActor: 'demo/c1' }, 'demo/c1'],
  [{ targetActor: 'demo/c1', host: 'c2.demo.actors.localhost' }, 'demo/c1'],
  [{ targetActor: 'demo/c1', host: 'www.example.org', targetPort: '9000' }, 'demo/c1'],
])('%j means %s', (said, key) => {
  expect(read(said)).toMatchObject({ kind: 'actor', key })
})

test.each([
  [{}, 'ADDRESS_INVALID'],
  [{ host: 'actors.localhost' }, 'ADDRESS_INVALID'],
  [{ host: 'c1.actors.localhost' }, 'ADDRESS_INVALID'],
  [{ host: 'a.c1.demo.actors.localhost' }, 'ADDRESS_INVALID'],
  [{ host: '.demo.actors.localhost' }, 'NAME_INVALID'],
  [{ host: `${LONG}.demo.actors.localhost` }, 'NAME_INVALID'],
  [{ host: 'c_1.demo.actors.localhost' }, 'NAME_INVALID'],
  [{ targetActor: 'c1' }, 'ADDRESS_INVALID'],
  [{ targetActor: 'demo/c1/x' }, 'ADDRESS_INVALID'],
  [{ targetActor: '/c1' }, 'NAME_INVALID'],
  [{ targetActor: 'demo/*' }, 'NAME_INVALID'],
  [{ targetActor: 'demo/C1' }, 'NAME_INVALID'],
  [{ targetActor: 'demo/c1', targetPort: '0' }, 'ADDRESS_INVALID'],
  [{ targetActor: 'demo/c1', targetPort: '70000' }, 'ADDRESS_INVALID'],
  [{ targetActor: 'demo/c1', targetPort: '80, 81' }, 'ADDRESS_INVALID'],
])('%j is refused as %s', (said, code) => {
  expect(read(said)).toMatchObject({ code })
})

test.each(['localhost:8080', 'xactors.localhost', '127.0.0.1:80', '[::1]:80'])(
  'Host %s is the router itself',
  (host) => {
    expect(read({ host })).toBe('own')
  },
)
