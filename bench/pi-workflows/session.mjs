// Runs the extension of pi-workflows through a session and prints how many characters it gives the model.
// Arguments: AGENT_DIR CWD COMMAND TASK PROMPTS. The first prompt starts the workflow. PROMPTS is a JSON list with one
// object per prompt: `next`, whether the agent moves on, and `sentOn`, how often it then stops and is sent on.
import extension from "@harms-haus/pi-workflows/src/index.ts";

const [agentDir, cwd, command, task, prompts] = process.argv.slice(2);
if (prompts === undefined) {
  console.error("usage: session.mjs AGENT_DIR CWD COMMAND TASK PROMPTS");
  process.exit(2);
}
process.env.PI_CODING_AGENT_DIR = agentDir;
console.warn = () => {};

// pi-workflows waits three seconds, one tick each, before it sends the agent on.
const TICKS = 3;
let tick = () => {};
globalThis.setInterval = (callback) => {
  tick = callback;
  return {};
};

const handlers = {};
const commands = {};
const sent = [];
let tool;
const pi = {
  on: (name, handler) => (handlers[name] = handler),
  registerCommand: (name, entry) => (commands[name] = entry),
  registerTool: (entry) => (tool = entry),
  registerMessageRenderer() {},
  setSessionName() {},
  appendEntry() {},
  sendMessage() {},
  sendUserMessage: (text) => sent.push(text),
};
const ui = { setStatus() {}, setWidget() {}, notify() {} };
const context = { cwd, ui, hasUI: true, sessionManager: { getEntries: () => [], getBranch: () => [] } };

const chars = { opening: 0, contexts: 0, moves: 0, reminders: 0 };
// Code points, as Python counts them, not UTF-16 units.
const count = (kind, text) => (chars[kind] += [...text].length);
const begin = (kind) => count(kind, handlers.before_agent_start({}, context).message.content);

extension(pi);
handlers.session_start({}, context);
await commands.workflow.handler(`${command} ${task}`, context);
count("opening", sent.pop());
for (const { next, sentOn } of JSON.parse(prompts)) {
  begin("contexts");
  if (next) {
    const result = await tool.execute("id", { action: "next" }, undefined, undefined, context);
    for (const part of result.content) count("moves", part.text);
  }
  for (let time = 0; time < sentOn; time++) {
    handlers.agent_end({ messages: [{ role: "assistant", stopReason: "stop" }] }, context);
    for (let second = 0; second < TICKS; second++) tick();
    count("reminders", sent.pop());
    begin("reminders");
  }
}
console.log(JSON.stringify(chars));
