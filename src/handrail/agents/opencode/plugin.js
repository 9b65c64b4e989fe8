// Handrail's plugin for OpenCode. It passes events to one child process, `handrail serve`, and does what that answers.
// The child decides everything. If it cannot answer, this file denies tool calls of conversations with a workflow.
import { spawn } from "node:child_process"
import { existsSync, lstatSync, readdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const STUBS = "@STUBS@"
const SECONDS = 10
const OWN_FILE = fileURLToPath(import.meta.url)
const SKILLS = join(dirname(OWN_FILE), STUBS.skills)
const LINKS = join(STUBS.state, "hosts", "opencode")
const STEP = "workflow_step"
const COMMANDS = { workflow: "start", "cancel-workflow": "cancel" }

/** One child process at a time. It is started by the first question and again if it has died. */
class Child {
  constructor(cwd) {
    this.cwd = cwd
    this.waiting = new Map()
    this.last = 0
    this.isClosed = false
  }

  start() {
    const [program, ...args] = STUBS.command
    const child = spawn(program, args, {
      cwd: this.cwd,
      env: { ...process.env, ...STUBS.env },
      stdio: ["pipe", "pipe", "ignore"],
    })
    let text = ""
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (more) => {
      const lines = (text + more).split("\n")
      text = lines.pop()
      lines.forEach((line) => this.take(line))
    })
    child.on("error", (error) => this.end(child, error))
    child.on("exit", () => this.end(child, new Error("its process has ended")))
    child.stdin.on("error", (error) => this.end(child, error))
    this.process = child
  }

  take(line) {
    let message
    try {
      message = JSON.parse(line)
    } catch {
      return this.end(this.process, new Error("its process printed something else than an answer"))
    }
    const asked = this.waiting.get(message?.id)
    if (message?.error) asked?.reject(new Error(message.error.message))
    else if (message?.result) asked?.resolve(message.result)
  }

  /** Give up a process: everything that waits for it fails. */
  end(child, error) {
    if (this.process !== child || !child) return
    this.process = undefined
    child.kill("SIGKILL")
    error.isEnd = true
    for (const asked of this.waiting.values()) asked.reject(error)
  }

  /** The answer to a hook. If the process ends, another one is asked, once. */
  async ask(params) {
    try {
      return await this.send("hook", params, SECONDS)
    } catch (error) {
      if (!error.isEnd) throw error
      return await this.send("hook", params, SECONDS)
    }
  }

  send(method, params, seconds, signal) {
    if (this.isClosed) throw new Error("OpenCode is closing its plugins")
    if (!this.process) this.start()
    const [child, id] = [this.process, ++this.last]
    return new Promise((resolve, reject) => {
      const late = () => {
        this.waiting.get(id).reject(new Error(`it did not answer in ${seconds} seconds`))
        this.end(child, new Error("it did not answer another question"))
      }
      const timer = seconds && setTimeout(late, seconds * 1000)
      const settled = (settle) => (value) => {
        clearTimeout(timer)
        this.waiting.delete(id)
        settle(value)
      }
      this.waiting.set(id, { resolve: settled(resolve), reject: settled(reject) })
      signal?.addEventListener("abort", () => {
        child.stdin.write(encoded({ method: "notifications/cancelled", params: { requestId: id } }))
        this.waiting.get(id)?.reject(new Error("the call was interrupted"))
      })
      child.stdin.write(encoded({ id, method, params }))
    })
  }

  close() {
    this.isClosed = true
    this.end(this.process, new Error("OpenCode is closing its plugins"))
  }
}

const encoded = (message) => JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n"
const isInstalled = () => existsSync(OWN_FILE)
const isAbsent = (path) => {
  try {
    lstatSync(path)
    return false
  } catch (error) {
    return error.code === "ENOENT"
  }
}

/** True if no conversation has a workflow. False if that cannot be found out. */
const hasNoLinks = () => {
  try {
    return readdirSync(LINKS).length === 0
  } catch (error) {
    return error.code === "ENOENT"
  }
}

const isLinked = (root) => !isAbsent(join(LINKS, STUBS.conversation || root))
const note = (text, root) => ({ type: "text", text, synthetic: true, metadata: { handrail: { conversation: root } } })

/** The conversation that made a part of ours. */
const origin = (part) => (part.state ?? part).metadata?.handrail?.conversation

/** True if the model can read one of these texts in a message, or the result of the call with this id. */
const isTold = (messages, signs) =>
  messages.some(({ parts }) =>
    parts.some((part) => {
      if (part.type === "text") return !part.ignored && signs.some((sign) => part.text.includes(sign))
      return part.type === "tool" && !part.state?.time?.compacted && signs.includes(part.callID)
    }),
  )

const server = async ({ client, directory }) => {
  const child = new Child(directory)
  const roots = new Map()
  const settledForks = new Set()
  const ended = new Map()
  const titles = new Map()
  let isStepForeign = false

  const hook = async (message) => (await child.ask({ cwd: directory, ...message })).reply ?? {}
  const show = (message, variant = "info") =>
    client.tui.showToast({ body: { title: "Handrail", message, variant, duration: 10000 } }).catch(() => {})

  /** The conversation of a session: a subagent has a session of its own below that of the conversation. */
  const rootOf = async (session) => {
    if (!roots.has(session)) {
      const { data } = await client.session.get({ path: { id: session } })
      if (data?.id !== session) throw new Error(`OpenCode does not know the session ${session}`)
      roots.set(session, data.parentID ? await rootOf(data.parentID) : session)
    }
    return roots.get(session)
  }

  /** True if a conversation has no workflow. A fork has copies of our parts, and gets a workflow of its own here. */
  const isFree = async (root) => {
    if (!isInstalled() || hasNoLinks()) return true
    if (!settledForks.has(root) && !STUBS.conversation && !isLinked(root)) {
      const { data } = await client.session.messages({ path: { id: root } })
      const parent = data.flatMap(({ parts }) => parts.map(origin)).findLast(Boolean)
      if (parent && parent !== root) {
        const { notice } = await hook({ type: "fork", session: root, parent })
        if (notice) throw new Error(notice)
      }
      settledForks.add(root)
    }
    return !isLinked(root)
  }

  const gate = async ({ tool, sessionID, callID }, { args }) => {
    let root
    try {
      root = await rootOf(sessionID)
      if (await isFree(root)) return
      const who = { session: root, isSubagent: sessionID !== root, call: callID }
      const said = await hook({ type: "tool", ...who, tool, isOwn: tool === STEP && !isStepForeign, args })
      if (said.allow === true) return
      if (!said.deny) throw new Error("its answer is not valid")
      if (STUBS.conversation) await show(JSON.stringify({ tool, reason: said.deny }), "warning")
      throw Object.assign(new Error(said.deny), { isVerdict: true })
    } catch (error) {
      if (error.isVerdict) throw error
      if (!isInstalled() || hasNoLinks() || (settledForks.has(root) && !isLinked(root))) return
      const id = root ? `opencode-${STUBS.conversation || root}` : "ID"
      throw new Error(
        `Handrail's gate failed, so this tool stays blocked while the workflow is active: ${error.message}. ` +
          `A person can cancel the workflow with: handrail cancel --yes --session ${id}`,
      )
    }
  }

  const step = async (args, context) => {
    if (!isInstalled()) return "Handrail was uninstalled. No workflow is active."
    const root = await rootOf(context.sessionID)
    const who = { session: root, isSubagent: context.sessionID !== root, call: context.callID, cwd: directory }
    const params = { name: STEP, arguments: args, _meta: { handrail: who } }
    const result = await child.send("tools/call", params, 0, context.abort)
    const output = result.content.map((part) => part.text).join("\n")
    return { title: args.action, output, metadata: { handrail: { conversation: root } } }
  }

  const command = async (input, output) => {
    const name = COMMANDS[input.command]
    if (!name) return
    if (!isInstalled()) throw new Error("Handrail was uninstalled")
    const root = await rootOf(input.sessionID)
    const said = await hook({ type: "command", session: root, name, arguments: input.arguments })
    if (said.notice) await show(said.notice)
    if (!said.text) {
      await show(said.held ?? "its answer is not valid")
      throw new Error(said.held)
    }
    const typed = { type: "text", text: `/${input.command} ${input.arguments}` }
    output.parts.splice(0, output.parts.length, typed, note(said.text, root))
  }

  const prompt = async ({ sessionID }, { message, parts }) => {
    const root = await rootOf(sessionID)
    if (parts.some((part) => part.metadata?.handrail?.isReminder) || (await isFree(root))) return
    const isSubagent = sessionID !== root
    const said = await hook({ type: isSubagent ? "subagent" : "prompt", session: root, turn: message.id })
    if (said.text && !parts.some(origin)) {
      const ids = { id: `prt_${message.id.slice(4)}handrail`, sessionID, messageID: message.id }
      parts.push({ ...note(said.text, root), ...ids })
    }
    if (said.title && !isSubagent && titles.get(root) !== said.title) {
      titles.set(root, said.title)
      await client.session.update({ path: { id: root }, body: { title: said.title } })
    }
  }

  /** Show the phase again if the model can no longer read it: after compaction, for example. Nothing is stored. */
  const remind = async (messages) => {
    const last = messages.findLast(({ info }) => info.role === "user")
    if (!last) return
    const { sessionID, id } = last.info
    const root = await rootOf(sessionID)
    if (sessionID !== root || (await isFree(root))) return
    const said = await hook({ type: "model", session: root })
    if (!said.text || isTold(messages, said.signs)) return
    last.parts.push({ ...note(said.text, root), id: `prt_${id.slice(4)}handrail`, sessionID, messageID: id })
  }

  /** The agent has stopped. It is sent on if Handrail says so, but never after an interrupt or an error. */
  const idle = async (session) => {
    if (STUBS.conversation || (await rootOf(session)) !== session || (await isFree(session))) return
    const { data } = await client.session.messages({ path: { id: session } })
    const last = data.findLast(({ info }) => info.role === "assistant")?.info
    if (!last || last.summary || ended.get(session) === last.id) return
    ended.set(session, last.id)
    const wasAborted = Boolean(last.error) || last.finish === "tool-calls"
    const said = await hook({ type: "stop", session, wasAborted })
    const parts = said.prompt && [{ ...note(said.prompt, session), metadata: { handrail: { isReminder: true } } }]
    if (parts) await client.session.promptAsync({ path: { id: session }, body: { parts } })
    else if (said.notice) await show(said.notice)
  }

  /** Run something that must not disturb OpenCode. A failure is shown. */
  const quietly = (work) => async (...given) => {
    try {
      if (isInstalled()) await work(...given)
    } catch (error) {
      if (!hasNoLinks()) await show(`Handrail could not handle an event: ${error.message}`, "error")
    }
  }

  return {
    config: async (config) => {
      isStepForeign = "workflow" in (config.mcp ?? {})
      config.command = { ...STUBS.commands, ...config.command }
      if (existsSync(SKILLS)) config.skills = { ...config.skills, paths: [...(config.skills?.paths ?? []), SKILLS] }
    },
    tool: { [STEP]: { description: STUBS.tool.description, args: STUBS.tool.inputSchema.properties, execute: step } },
    "tool.execute.before": gate,
    "command.execute.before": command,
    "chat.message": quietly(prompt),
    "experimental.chat.messages.transform": quietly((_, { messages }) => remind(messages)),
    event: async ({ event }) => {
      if (event.type === "session.idle") await quietly(idle)(event.properties.sessionID)
    },
    dispose: async () => child.close(),
  }
}

export default { id: "handrail", server }
