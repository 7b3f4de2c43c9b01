import { createHash } from 'node:crypto'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fault, type SandboxSpec } from '@torpor/contracts'
import type { Image } from './images.ts'

/** What a sandbox that is created before its actor is known must have in common with it. */
export type SandboxShape = Pick<
  SandboxSpec,
  'command' | 'args' | 'env' | 'durableDirs' | 'diskMib' | 'memoryMib'
> & { readonly image: Image }

const DEFAULT_PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Same shape, same key: such a sandbox can be handed to any actor of the template. */
export function shapeKey({
  image,
  command,
  args,
  env,
  durableDirs,
  diskMib,
  memoryMib,
}: SandboxShape): string {
  const parts = [image.digest, command, args, Object.entries(env).sort(), durableDirs, diskMib, memoryMib]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
}

/** Folder of a durable directory of a slot, on the host. */
const volumeFolder = (slotFolder: string, name: string): string => join(slotFolder, 'volumes', name)

/** Bundle of a slot. */
export const bundleOf = (slotFolder: string): string => join(slotFolder, 'bundle')

/** Lays out the bundle of a slot: `bundle/config.json`, and an empty folder for each durable directory. */
export async function writeBundle(
  shape: SandboxShape,
  slotFolder: string,
  namespacePath: string,
): Promise<void> {
  const bundle = bundleOf(slotFolder)
  await mkdir(bundle, { recursive: true })
  await Promise.all(
    // anyone in the sandbox may write, as in an emptyDir: images run as users of their own
    shape.durableDirs.map(async ({ name }) => {
      await mkdir(volumeFolder(slotFolder, name), { recursive: true })
      await chmod(volumeFolder(slotFolder, name), 0o777)
    }),
  )
  await writeFile(join(bundle, 'config.json'), JSON.stringify(runtimeSpec(shape, slotFolder, namespacePath)))
}

function runtimeSpec(shape: SandboxShape, slotFolder: string, namespacePath: string): object {
  const { image, durableDirs } = shape
  const namespaces = ['pid', 'ipc', 'uts', 'mount'].map((type) => ({ type }))
  const volumes = durableDirs.map(({ name, mountPath }) => ({
    destination: mountPath,
    type: 'bind',
    source: volumeFolder(slotFolder, name),
    options: ['rbind', 'rw', 'nosuid', 'nodev'],
  }))
  const none: readonly string[] = []
  return {
    ociVersion: '1.0.2',
    process: {
      terminal: false,
      user: image.user,
      args: processArgs(shape),
      env: processEnv(shape),
      cwd: image.cwd,
      capabilities: { bounding: none, effective: none, inheritable: none, permitted: none, ambient: none },
      noNewPrivileges: true,
    },
    // writes go over it, to the overlay on disk; the image itself is shared
    root: { path: image.rootfs, readonly: false },
    hostname: 'actor',
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs' },
      { destination: '/sys', type: 'sysfs', source: 'sysfs', options: ['nosuid', 'noexec', 'nodev', 'ro'] },
      ...volumes,
    ],
    linux: { namespaces: [...namespaces, { type: 'network', path: namespacePath }] },
  }
}

/** As Kubernetes has it: `command` replaces the image's entry point and its arguments, `args` its arguments. */
function processArgs({ image, command, args }: SandboxShape): readonly string[] {
  const entrypoint = command.length > 0 ? command : image.entrypoint
  const rest = args.length > 0 || command.length > 0 ? args : image.cmd
  const all = [...entrypoint, ...rest]
  if (all.length > 0) return all
  throw fault('IMAGE_INVALID', image.digest, { detail: 'neither image nor template name a process to run' })
}

function processEnv({ image, env }: SandboxShape): readonly string[] {
  const own = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const replaced = (line: string): boolean => Object.hasOwn(env, line.slice(0, line.indexOf('=')))
  const inherited = image.env.filter((line) => !replaced(line))
  const all = [...inherited, ...own]
  return all.some((line) => line.startsWith('PATH=')) ? all : [DEFAULT_PATH, ...all]
}
