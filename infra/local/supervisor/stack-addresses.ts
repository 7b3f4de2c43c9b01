import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** `<data>/run/addresses.json`: where a running stack is reached, for a `torpor` that is started beside it. */
const fileIn = (dataFolder: string): string => path.join(dataFolder, 'run', 'addresses.json')

export type StackAddresses = { readonly nats: string; readonly router: string }

export function writeAddresses(dataFolder: string, addresses: StackAddresses): void {
  const file = fileIn(dataFolder)
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(addresses)}\n`)
}

export function removeAddresses(dataFolder: string): void {
  rmSync(fileIn(dataFolder), { force: true })
}
