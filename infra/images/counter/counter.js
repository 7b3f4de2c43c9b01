// The demo's actor: counts requests in its memory, in a file of a durable directory and in a file of its root file
// system. Plain JavaScript with nothing to install: it runs on the node binary that lies in the image beside it.
'use strict'
const { createServer } = require('node:http')
const { readFileSync, writeFileSync } = require('node:fs')
const { randomFillSync } = require('node:crypto')

const PORT = Number(process.env.PORT ?? 8080)
const FILES = {
  file: process.env.COUNT_FILE ?? '/data/count',
  rootfs: process.env.ROOTFS_COUNT_FILE ?? '/count',
}
const ballast = makeBallast(Number(process.env.BALLAST_MIB ?? 0), process.env.BALLAST_FILL ?? 'random')
const MIB = 1024 * 1024

let memoryCount = 0
let last = { key: undefined, answer: '' }

function makeBallast(mib, fill) {
  const blocks = []
  for (let i = 0; i < mib; i++) {
    const block = Buffer.alloc(1024 * 1024)
    if (fill === 'random') randomFillSync(block)
    if (fill === 'half') randomFillSync(block, 0, block.length / 2)
    blocks.push(block)
  }
  return blocks
}

/** One byte of every MiB: shows that the memory is there, and makes a lazy restore load it. */
function touchBallast() {
  for (const block of ballast) block[MIB / 2] += 1
}

function countInFile(path) {
  let count = 0
  try {
    count = Number(readFileSync(path, 'utf8'))
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
  writeFileSync(path, String(count + 1))
  return count + 1
}

/** The same key counts once: a router may send a request again when it does not know what became of it. */
function count(key) {
  if (key !== undefined && key === last.key) return last.answer
  touchBallast()
  memoryCount += 1
  const file = countInFile(FILES.file)
  const rootfs = countInFile(FILES.rootfs)
  const answer = `memory count: ${memoryCount} | file count: ${file} | rootfs count: ${rootfs}\n`
  last = { key, answer }
  return answer
}

const server = createServer((request, response) => {
  request.resume()
  if (request.url === '/healthz') return response.end('ok\n')
  if (request.url?.startsWith('/torpor/')) return response.writeHead(404).end('no such hook\n')
  if (request.url === '/exit') process.exit(7)
  try {
    response.end(count(request.headers['idempotency-key']))
  } catch (error) {
    response.writeHead(500).end(`${error.message}\n`)
  }
})
server.listen(PORT, '0.0.0.0', () => console.log(`counter listens on ${PORT}`))
