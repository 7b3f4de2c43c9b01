import { endWithStarter } from '../supervisor/end-with-starter.ts'
import { enterProcessRoot } from '../supervisor/process-root.ts'

enterProcessRoot()
endWithStarter()
const { runStory } = await import('./story.ts')
process.exitCode = await runStory(process.argv.slice(2))
