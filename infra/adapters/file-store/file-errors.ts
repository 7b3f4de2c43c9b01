const codeOf = (thrown: unknown): unknown =>
  thrown instanceof Error && 'code' in thrown ? thrown.code : undefined

/** No such file; also when a part of the path is a file, or the path names a folder. */
export const isMissing = (thrown: unknown): boolean => {
  const code = codeOf(thrown)
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR'
}

export const isTaken = (thrown: unknown): boolean => codeOf(thrown) === 'EEXIST'
export const isNotEmpty = (thrown: unknown): boolean =>
  codeOf(thrown) === 'ENOTEMPTY' || codeOf(thrown) === 'EEXIST'
