// Handrail's plugin for OpenCode. It passes events to one child process, `handrail serve`, and does what that answers.
// The child decides everything. If it cannot answer, this file denies tool calls of conversations with a workflow.
import { existsSync, lstatSync, readdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { Child } from "./child.js"

const STUBS = "@STUBS@"
const OWN_FILE = fileURLToPath(import.meta.url)
const SKILLS = join(dirname(OWN_FILE), STUBS.skills)
const LINKS = join(STUBS.state, "hosts", "opencode")
const STEP = "workflow_step"
const COMMANDS = { workflow: "start", "cancel-workflow": "cancel" }

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

/** What we store with a part of ours: its conversation, the phase it tells, and where the session is if that is new. */
const stored = (root, standing, mark) => {
  if (!standing?.is_new) return { handrail: { conversation: root, mark } }
  const { session, project, number, status } = standing
  return { handrail: { conversation: root, mark, place: { session, project, number, status } } }
}
const note = (text, root, ...more) => ({ type: "text", text, synthetic: true, metadata: stored(root, ...more) })
const ours = (part) => (part.state ?? part).metadata?.handrail

/** The marks of the phases that the model can read about in these messages. */
const marksIn = (messages) => {
  const parts = messages.flatMap((message) => message.parts).filter((part) => !part.ignored && !part.state?.time?.compacted)
  return parts.map((part) => ours(part)?.mark).filter(Boolean)
}

const failed = (error) =>
  `Handrail did not carry out this command: ${error.message}. ` +
  "Install it again in a terminal, then repeat the command: handrail install opencode"

const server = async ({ client, directory }) => {
  const child = new Child({ command: STUBS.command, env: STUBS.env, cwd: directory })
  const roots = new Map()
  const settled = new Set()
  const undone = new Set()
  const closed = new Set()
  const ended = new Map()
  const titles = new Map()
  const messages = new Map()
  let isStepForeign = false

  /** Handrail's answer. If its process is lost, another one is asked, once. */
  const ask = async (message) => {
    const params = { cwd: directory, ...message }
    const again = (error) => {
      if (!error.isLost) throw error
      return child.ask("hook", params)
    }
    const { reply, standing } = await child.ask("hook", params).catch(again)
    return { reply: reply ?? {}, standing }
  }
  const hook = async (message) => (await ask({ keeps: false, ...message })).reply
  const show = (message, variant = "info", title = "Handrail") =>
    client.tui.showToast({ body: { title, message, variant, duration: 10000 } }).catch(() => {})

  /** OpenCode has no status line for others: a toast says where the workflow is when that has changed. */
  const showLine = async (standing, root) => {
    if (!standing?.is_new) return
    if (standing.status_line) await show(standing.status_line, "info", "Workflow")
    await entitle(root, standing)
  }

  /** Between moves, the title of the conversation says it, behind the name of the task. At the end the name is left. */
  const entitle = async (root, { title, status_line: line }) => {
    const name = title ?? titles.get(root)?.name
    const text = [name, line].filter(Boolean).join(" · ")
    if (!name || titles.get(root)?.text === text) return
    titles.set(root, { name, text })
    await client.session.update({ path: { id: root }, body: { title: text } })
  }

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
    if (!isInstalled()) return true
    const mayBeFork = !settled.has(root) && !hasNoLinks() && !isLinked(root)
    if (!STUBS.conversation && (mayBeFork || undone.has(root))) await follow(root)
    return !isLinked(root)
  }

  /** Bring the session of a conversation to the last place in its history: after `/undo`, and in a fork. */
  const follow = async (root) => {
    const { data: session } = await client.session.get({ path: { id: root } })
    if (session?.revert) return // the messages are removed at the next prompt
    const { data } = await client.session.messages({ path: { id: root } })
    const found = data.flatMap(({ parts }) => parts.map(ours)).filter(Boolean)
    const last = found.findLast(({ place }) => place)
    if (undone.has(root) || (last && last.conversation !== root)) {
      if (["active", "waiting"].includes(last?.place.status)) closed.add(root)
      const { failed } = await hook({ type: "branch", session: root, at: last?.place })
      if (failed) throw new Error(failed)
    }
    settled.add(root)
    undone.delete(root)
    closed.delete(root)
  }

  const gate = async ({ tool, sessionID, callID }, { args }) => {
    let root
    try {
      root = await rootOf(sessionID)
      if (await isFree(root)) return
      const message = `${process.pid}.${messages.get(root) ?? 0}`
      const who = { session: root, isSubagent: sessionID !== root, call: callID, message }
      const said = await hook({ type: "tool", ...who, tool, isOwn: tool === STEP && !isStepForeign, args })
      if (said.allow === true) return
      if (!said.deny) throw new Error("its answer is not valid")
      if (STUBS.conversation) await show(JSON.stringify({ tool, reason: said.deny }), "warning")
      throw Object.assign(new Error(said.deny), { isVerdict: true })
    } catch (error) {
      if (error.isVerdict) throw error
      const hasNone = hasNoLinks() || (settled.has(root) && !isLinked(root))
      if (!isInstalled() || (hasNone && !closed.has(root))) return
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
    const result = await child.ask("tools/call", params, { seconds: 0, signal: context.abort })
    const output = result.content.map((part) => part.text).join("\n")
    await showLine(result.standing, root)
    const mark = result.isError ? undefined : result.standing?.mark
    return { title: args.action, output, metadata: stored(root, result.standing, mark) }
  }

  const command = async (input, output) => {
    const name = COMMANDS[input.command]
    if (!name) return
    if (!isInstalled()) throw new Error("Handrail was uninstalled")
    const root = await rootOf(input.sessionID)
    const asked = ask({ type: "command", session: root, name, arguments: input.arguments })
    const { reply: said, standing } = await asked.catch((error) => ({ reply: { held: failed(error) } }))
    if (said.notice) await show(said.notice)
    if (!said.text) {
      const told = said.held ?? failed(new Error("its answer is not valid"))
      if (name === "cancel") {
        for (const roots of [undone, closed]) roots.delete(root)
        await entitle(root, {})
      }
      await show(told)
      throw new Error(told)
    }
    await showLine(standing, root)
    const typed = { type: "text", text: `/${input.command} ${input.arguments}` }
    output.parts.splice(0, output.parts.length, typed, note(said.text, root, standing, said.mark))
  }

  const prompt = async ({ sessionID }, { message, parts }) => {
    const root = await rootOf(sessionID)
    if (parts.some((part) => ours(part)?.isReminder)) return
    if (await isFree(root)) return entitle(root, {})
    const isSubagent = sessionID !== root
    const isTold = parts.some(ours)
    const asked = { type: isSubagent ? "subagent" : "prompt", session: root, turn: message.id }
    const { reply: said, standing } = await ask({ ...asked, keeps: !isSubagent && !isTold })
    if (said.text && !isTold) {
      const ids = { id: `prt_${message.id.slice(4)}handrail`, sessionID, messageID: message.id }
      parts.push({ ...note(said.text, root, standing, said.mark), ...ids })
    }
    if (!isSubagent && standing) await entitle(root, standing)
  }

  /** Show the phase again if the model can no longer read it: after compaction, for example. Nothing is stored. */
  const remind = async (history) => {
    const last = history.findLast(({ info }) => info.role === "user")
    if (!last) return
    const { sessionID, id } = last.info
    const root = await rootOf(sessionID)
    if (sessionID === root) messages.set(root, (messages.get(root) ?? 0) + 1)
    if (sessionID !== root || (await isFree(root))) return
    const said = await hook({ type: "model", session: root, told: marksIn(history) })
    if (!said.text) return
    last.parts.push({ ...note(said.text, root), id: `prt_${id.slice(4)}handrail`, sessionID, messageID: id })
  }

  /**
   * The agent has stopped. It is sent on if Handrail says so, but never after an interrupt or an error. At an interrupt,
   * OpenCode may report the stop before it stores the error: a message without a `finish` was interrupted too.
   */
  const idle = async (session) => {
    if (STUBS.conversation || (await rootOf(session)) !== session || (await isFree(session))) return
    const { data } = await client.session.messages({ path: { id: session } })
    const last = data.findLast(({ info }) => info.role === "assistant")?.info
    if (!last || last.summary || ended.get(session) === last.id) return
    ended.set(session, last.id)
    const wasAborted = Boolean(last.error) || !last.finish || last.finish === "tool-calls"
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
      const { sessionID, info } = event.properties
      if (event.type === "session.updated" && info?.revert) undone.add(info.id)
      if (event.type === "session.idle") await quietly(idle)(sessionID)
    },
    dispose: async () => child.close(),
  }
}

export default { id: "handrail", server }
