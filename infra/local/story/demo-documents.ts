import type { ResourceDocument } from '@torpor/contracts'

export const DEMO_ATESPACE = 'demo'
export const DEMO_TEMPLATE = 'counter'
export const DEMO_ACTOR = 'my-counter-1'
export const DEMO_POOL = 'gvisor-pool'
export const COUNTER_PORT = 8080

/** The demo does not wait five minutes for an upload, nor thirty for the copy on the node to go. */
const DEMO_UPLOAD_DELAY = '3s'
const DEMO_DETACH_DELAY = '8s'

/** What the demo applies, in order: the same documents that `torpor apply -f` takes. */
export const demoDocuments = (image: string): readonly ResourceDocument[] => [
  { apiVersion: 'torpor.dev/v1', kind: 'Atespace', metadata: { name: DEMO_ATESPACE } },
  {
    apiVersion: 'torpor.dev/v1',
    kind: 'WorkerPool',
    metadata: { name: DEMO_POOL },
    spec: {
      replicas: 2,
      sandboxClasses: [{ name: 'gvisor' }],
      template: { resources: { limits: { cpu: '2', memory: '2Gi' } } },
    },
  },
  {
    apiVersion: 'torpor.dev/v1',
    kind: 'ActorTemplate',
    metadata: { atespace: DEMO_ATESPACE, name: DEMO_TEMPLATE },
    spec: {
      sandboxClasses: [{ name: 'gvisor' }],
      containers: [
        {
          name: 'counter',
          image,
          ports: [{ containerPort: COUNTER_PORT }],
          wakeupProbe: { httpGet: { path: '/healthz', port: COUNTER_PORT } },
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
        },
      ],
      volumes: [{ name: 'data', durableDir: {} }],
      resources: { limits: { cpu: '1', memory: '256Mi', disk: '1Gi' } },
      snapshotConfig: { uploadDelay: DEMO_UPLOAD_DELAY, detachDelay: DEMO_DETACH_DELAY },
    },
  },
]
