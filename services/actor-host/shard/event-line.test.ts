import type { DomainEvent, HostCommand } from '@torpor/contracts'
import { NO_PREVIOUS, cloudEventType, parseCloudEvent, sha256Hex } from '@torpor/contracts'
import { assert, integer, option, property, record, string } from 'fast-check'
import { expect, test } from 'vitest'
import { buildEventLine } from './event-line.ts'

const texts = string({ unit: 'binary', maxLength: 40 })
const inputs = record({
  id: texts,
  source: texts,
  uid: option(texts, { nil: undefined }),
  digest: option(texts, { nil: undefined }),
  traceparent: option(texts, { nil: undefined }),
  version: integer({ min: 1 }),
  note: texts,
})

test('a line is exactly what JSON.stringify makes of the event, whatever its texts', () => {
  assert(
    property(inputs, ({ id, source, uid, digest, traceparent, version, note }) => {
      const event: DomainEvent = { type: 'GoldenSnapshotFailed', data: { errorMessage: note } }
      const command: Pick<HostCommand, 'id' | 'correlationId' | 'principal' | 'traceparent'> = {
        id,
        correlationId: note,
        principal: { principal: source, proof: 'subject' },
        ...(traceparent === undefined ? {} : { traceparent }),
      }
      const moment = { nowMs: 0, time: new Date(0).toISOString(), epoch: 3, frame: 9 }
      const { line, hash, bytes } = buildEventLine(
        {
          id: 'event-id',
          source,
          subject: note,
          uid,
          version,
          previousHash: NO_PREVIOUS,
          event,
          command,
          digest,
        },
        moment,
      )
      const expected = {
        specversion: '1.0',
        id: 'event-id',
        source,
        type: cloudEventType(event.type),
        subject: note,
        time: moment.time,
        ...(uid === undefined ? {} : { actoruid: uid }),
        version,
        epoch: 3,
        causationid: id,
        correlationid: note,
        ...(digest === undefined ? {} : { commanddigest: digest }),
        actorprev: NO_PREVIOUS,
        ...(traceparent === undefined ? {} : { traceparent }),
        principal: source,
        principalproof: 'subject',
        data: event.data,
      }
      expect(line).toBe(JSON.stringify(expected))
      expect(parseCloudEvent(line)).toEqual(expected)
      expect(hash).toBe(sha256Hex(line))
      expect(bytes).toBe(new TextEncoder().encode(line).byteLength)
    }),
  )
})
