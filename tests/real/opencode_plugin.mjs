// Plays OpenCode for our plugin: loads it, calls its hooks as lines on stdin say, and prints what happened as lines.
import { createInterface } from "node:readline"

const [file, directory] = process.argv.slice(2)
const say = (event) => process.stdout.write(JSON.stringify(event) + "\n")
const sessions = {}
const messages = {}
const client = {
  session: {
    get: async ({ path }) => ({ data: sessions[path.id] }),
    messages: async ({ path }) => ({ data: messages[path.id] ?? [] }),
    promptAsync: async ({ path, body }) => say({ prompted: path.id, parts: body.parts }),
    update: async ({ path, body }) => say({ titled: path.id, title: body.title }),
  },
  tui: { showToast: async ({ body }) => say({ shown: body.message }) },
}
const { default: plugin } = await import(file)
const hooks = await plugin.server({ client, directory })
const config = {}

for await (const line of createInterface({ input: process.stdin })) {
  const { hook, input = {}, output = {}, context, ...given } = JSON.parse(line)
  Object.assign(sessions, given.sessions)
  Object.assign(messages, given.messages)
  try {
    let result
    if (hook === "config") await hooks.config(Object.assign(config, input))
    else if (hook === "step") result = await hooks.tool.workflow_step.execute(input, context)
    else if (hook === "event" || hook === "dispose") await hooks[hook](input)
    else if (hook) await hooks[hook](input, output)
    say({ done: true, result, output, config })
  } catch (error) {
    say({ done: true, thrown: error.message })
  }
}

await hooks.dispose()
