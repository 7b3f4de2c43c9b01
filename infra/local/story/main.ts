import { enterProcessRoot } from '../supervisor/process-root.ts'

enterProcessRoot()
const { runStory } = await import('./story.ts')
process.exitCode = await runStory(process.argv.slice(2))
