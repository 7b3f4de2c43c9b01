import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { generatedPages } from './generated-docs.ts'
import { ROOT } from './source-files.ts'

test.for(Object.entries(generatedPages()))('%s is what `npm run docs` makes', ([path, text]) => {
  const file = join(ROOT, path)
  expect(existsSync(file) ? readFileSync(file, 'utf8') : 'missing').toBe(text)
})
