import type { ErrorCode, ResourceDocument } from '@torpor/contracts'
import { DOCUMENT_KINDS, fault, resourceDocumentSchema } from '@torpor/contracts'
import type { Document, ParsedNode } from 'yaml'
import { LineCounter, isMap, isNode, isScalar, parseAllDocuments } from 'yaml'

type Issue = { readonly code: string; readonly path: readonly PropertyKey[]; readonly message: string }

/**
 * The resource documents in a text (YAML or JSON), checked, in the order in which they can be applied. Each stays as it was
 * written. Throws DOCUMENT_INVALID or FIELD_UNKNOWN with line and path of the first mistake, before anything is sent.
 * @example parseDocuments('kind: Atespace …', 'demo.yaml', undefined)
 */
export function parseDocuments(
  text: string,
  source: string,
  atespace: string | undefined,
): readonly ResourceDocument[] {
  const lines = new LineCounter()
  const parsed = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false })
  const documents = Array.isArray(parsed) ? parsed : []
  const written = documents.filter((document) => document.contents !== null || document.errors.length > 0)
  if (written.length === 0) throw fault('DOCUMENT_INVALID', source, { detail: 'it holds no document' })
  return written
    .map((document) => parseOne(document, lines, source, atespace))
    .toSorted((a, b) => DOCUMENT_KINDS.indexOf(a.kind) - DOCUMENT_KINDS.indexOf(b.kind))
}

function parseOne(
  document: Document.Parsed<ParsedNode>,
  lines: LineCounter,
  source: string,
  atespace: string | undefined,
): ResourceDocument {
  const broken = document.errors[0]
  if (broken !== undefined) {
    const line = lines.linePos(broken.pos[0]).line
    throw fault('DOCUMENT_INVALID', `${source}:${line}`, { detail: broken.message })
  }
  const written = withAtespace(document.toJS() as unknown, atespace)
  const { success, error } = resourceDocumentSchema.safeParse(written)
  if (success) return written as ResourceDocument
  const { code, path, detail } = mistakeOf(error.issues)
  const line = lines.linePos(offsetOf(document, path)).line
  const more = error.issues.length > 1 ? `, and ${error.issues.length - 1} more` : ''
  throw fault(code, `${source}:${line}: ${path.join('.') || 'document'}`, { detail: `${detail}${more}` })
}

function mistakeOf(issues: readonly Issue[]): { code: ErrorCode; path: PropertyKey[]; detail: string } {
  const unknown = issues.find(({ code }) => code === 'unrecognized_keys') as
    | (Issue & { readonly keys: readonly string[] })
    | undefined
  if (unknown !== undefined) {
    const path = [...unknown.path, unknown.keys[0] ?? '']
    return { code: 'FIELD_UNKNOWN', path, detail: unknown.keys.join(', ') }
  }
  const first = issues[0]
  const path = [...(first?.path ?? [])]
  const isKind = first?.code === 'invalid_union' && path[0] === 'kind'
  const detail = isKind ? `kind is one of ${DOCUMENT_KINDS.join(', ')}` : (first?.message ?? '')
  return { code: 'DOCUMENT_INVALID', path, detail }
}

/** Where the value at `path` begins, or the nearest thing around it that is there. */
function offsetOf(document: Document.Parsed<ParsedNode>, path: readonly PropertyKey[]): number {
  const parent = path.length > 1 ? document.getIn(path.slice(0, -1), true) : document.contents
  if (isMap(parent)) {
    const pair = parent.items.find(({ key }) => isScalar(key) && key.value === path.at(-1))
    if (isNode(pair?.key) && pair.key.range) return pair.key.range[0]
  }
  for (let length = path.length; length > 0; length -= 1) {
    const node = document.getIn(path.slice(0, length), true)
    if (isNode(node) && node.range) return node.range[0]
  }
  return document.contents?.range[0] ?? 0
}

/** Fills in the atespace of `-a` where a template names none. */
function withAtespace(written: unknown, atespace: string | undefined): unknown {
  const { kind, metadata } = (written ?? {}) as { kind?: unknown; metadata?: unknown }
  const fits = kind === 'ActorTemplate' && typeof metadata === 'object' && metadata !== null
  if (atespace === undefined || !fits || 'atespace' in metadata) return written
  return { ...(written as object), metadata: { ...metadata, atespace } }
}
