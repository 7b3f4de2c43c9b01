const UNITS_MS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

/** How long ago, as one number with its unit: `12s`, `5m`, `3h`, `9d`. */
export function age(sinceMs: number, nowMs: number): string {
  const elapsedMs = Math.max(0, nowMs - sinceMs)
  const [unit, unitMs] = UNITS_MS.find(([, ms]) => elapsedMs >= ms) ?? ['s', 1_000]
  return `${Math.floor(elapsedMs / unitMs)}${unit}`
}

/** A measured time for people: `184 ms`, `3.2 s`. */
export const took = (elapsedMs: number): string =>
  elapsedMs < 10_000 ? `${Math.round(elapsedMs)} ms` : `${(elapsedMs / 1000).toFixed(1)} s`

/** Time of day with milliseconds, local: `14:02:11.042`. */
export function timeOfDay(timeMs: number): string {
  const date = new Date(timeMs)
  const two = (value: number): string => String(value).padStart(2, '0')
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

/** Bytes for people: `9.6 MiB`. */
export function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  const power = Math.min(4, Math.floor(Math.log2(bytes) / 10))
  return `${(bytes / 1024 ** power).toFixed(1)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][power]}`
}
