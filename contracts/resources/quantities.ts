import { z } from 'zod'

/** CPU as Kubernetes writes it: `250m` or `1`. Parsed to millicores. */
export const cpuQuantity = z.union([z.string(), z.number()]).transform((text, context) => {
  const match = /^(\d+(?:\.\d+)?)(m?)$/.exec(String(text))
  const milli = match === null ? Number.NaN : Math.round(Number(match[1]) * (match[2] === 'm' ? 1 : 1000))
  if (milli >= 1 && milli < 1_000_000) return milli
  context.addIssue({ code: 'custom', message: `is no CPU quantity like 250m or 1: ${String(text)}` })
  return z.NEVER
})

const UNITS_BYTES: Record<string, number> = {
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  K: 1e3,
  M: 1e6,
  G: 1e9,
  '': 1,
}

/** Memory or disk as Kubernetes writes it: `256Mi`. Parsed to whole MiB, rounded up. */
export const bytesQuantity = z.union([z.string(), z.number()]).transform((text, context) => {
  const match = /^(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|K|M|G|)$/.exec(String(text))
  const mib =
    match === null ? Number.NaN : Math.ceil((Number(match[1]) * (UNITS_BYTES[match[2] ?? ''] ?? 1)) / 2 ** 20)
  if (mib >= 1) return mib
  context.addIssue({ code: 'custom', message: `is no quantity like 256Mi or 1Gi: ${String(text)}` })
  return z.NEVER
})

/** A duration as people write it: `500ms`, `3s`, `5m`, `2h`. Parsed to milliseconds. */
export const durationQuantity = z.union([z.string(), z.number()]).transform((text, context) => {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(String(text))
  const unit = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[match?.[2] ?? ''] ?? Number.NaN
  const ms = match === null ? Number.NaN : Math.round(Number(match[1]) * unit)
  if (ms >= 0) return ms
  context.addIssue({ code: 'custom', message: `is no duration like 500ms, 3s, 5m: ${String(text)}` })
  return z.NEVER
})
