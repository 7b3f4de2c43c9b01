import { stringify } from 'yaml'
import type { OutputFormat } from '../context.ts'

/** A value as text in a format for machines. */
export const documentText = (format: Exclude<OutputFormat, 'table'>, value: unknown): string =>
  format === 'json' ? `${JSON.stringify(value, undefined, 2)}\n` : stringify(value)
