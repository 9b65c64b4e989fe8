// Handrail in pi: passes pi's events to Handrail and does what it answers. Everything is decided there, in Python.
//
// While a workflow is active, a tool call is blocked unless Handrail allows it: an error, a lost process or an invalid
// answer blocks. Without a workflow, a tool call costs one look at a file.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { Child } from "./child.js";
import { lastPlace, marksIn, withContext } from "./history.js";
import { isInstalled, mayBeActive } from "./link.js";
import { Screen } from "./screen.js";
import { Stops } from "./stops.js";

const FOLDER = dirname(fileURLToPath(import.meta.url));
const STEP = "workflow_step";
const STATE = "handrail:state";
const CONTEXT = "workflow:context";
const PARENT = "HANDRAIL_PI_PARENT";
const ONE_CALL = "HANDRAIL_FOR_ONE_CALL";
const SLOW = { seconds: 60 };

export default function handrail(pi) {
	const config = readConfig(join(FOLDER, "handrail.json"));
	if (!config || isReplaced(config)) return;
	new Guided(pi, config).register();
}

function readConfig(file) {
	try {
		return { ...JSON.parse(readFileSync(file, "utf8")), file };
	} catch {
		return null;
	}
}

// Of several installations one answers: the one of this call, else the one of the user if it has the same state folder.
function isReplaced(config) {
	if (config.conversation) return false;
	if (process.env[ONE_CALL]) return true;
	const other = config.user ? readConfig(config.user) : null;
	return other !== null && other.env.HANDRAIL_STATE === config.env.HANDRAIL_STATE;
}

// The conversation of the pi that started this one, if any. A reload must not take its own conversation for that.
function parentOf(env) {
	const key = Symbol.for("handrail.parent");
	if (globalThis[key] === undefined) globalThis[key] = env[PARENT] ?? "";
	return globalThis[key];
}

class Guided {
	constructor(pi, config) {
		this.pi = pi;
		this.config = config;
		this.child = new Child(config);
		this.screen = new Screen(pi);
		this.stops = new Stops(pi, this.screen);
		this.parent = parentOf(process.env);
		this.conversation = config.conversation;
		this.cwd = process.cwd();
		this.isMove = false;
		this.opening = Promise.resolve();
		this.closedBecause = null;
		this.messages = 0;
	}

	register() {
		const { pi } = this;
		this.screen.register();
		pi.on("session_start", (event, ctx) => this.begin(ctx));
		pi.on("session_tree", (event, ctx) => this.follow(ctx, true));
		pi.on("session_shutdown", () => this.end());
		pi.on("before_agent_start", (event, ctx) => this.remember(ctx));
		pi.on("context", (event) => this.beforeModel(event));
		pi.on("tool_call", (event, ctx) => this.beforeTool(event, ctx));
		pi.on("input", (event) => {
			if (event.source === "extension") return undefined;
			this.stops.interrupt();
			return this.tellOfPrompt();
		});
		pi.on("agent_start", () => this.stops.working());
		pi.on("agent_end", (event, ctx) => this.onEnd(event, ctx));
		pi.on("agent_settled", () => this.screen.flush());
		pi.registerTool({
			name: STEP,
			label: "Workflow step",
			description: this.config.tool.description,
			promptSnippet: "Move through the workflow that is active in this conversation",
			parameters: this.config.tool.inputSchema,
			executionMode: "sequential",
			execute: (id, params, signal, onUpdate, ctx) => this.step(id, params, signal, onUpdate, ctx),
			renderCall: (args, theme) => this.screen.renderCall(STEP, args, theme),
			renderResult: (result, options, theme) => this.screen.renderStep(result, options, theme),
		});
		pi.registerCommand("workflow", {
			description: "Start a workflow: /workflow NAME TASK",
			getArgumentCompletions: (typed) => this.completions(typed),
			handler: (args, ctx) => this.start(args, ctx),
		});
		pi.registerCommand("cancel-workflow", {
			description: "Cancel the active workflow",
			handler: (args, ctx) => this.cancel(ctx),
		});
	}

	ask(event, more, options) {
		return this.child.ask("hook", { event, conversation: this.conversation, cwd: this.cwd, ...more }, options);
	}

	isActive() {
		return isInstalled(this.config) && mayBeActive(this.config, this.conversation);
	}

	begin(ctx) {
		this.conversation = this.config.conversation || ctx.sessionManager.getSessionId();
		this.cwd = ctx.cwd;
		this.screen.show(ctx);
		const isNested = this.parent && mayBeActive(this.config, this.parent);
		process.env[PARENT] = isNested ? this.parent : this.conversation;
		if (this.config.conversation) delete process.env[ONE_CALL];
		return this.follow(ctx);
	}

	// Bring the session to the branch of the history that pi is at. Until that is done, tool calls wait.
	//
	// If that fails, the gate stays closed in a fork and after a move in the history: there, no link says that a workflow
	// is active. Otherwise the link alone decides, so that a person can free the conversation in a terminal.
	follow(ctx, isMove = this.isMove) {
		this.stops.stop();
		this.isMove = isMove;
		this.opening = this.goToBranch(ctx);
		return this.opening;
	}

	async goToBranch(ctx) {
		const { at, states } = lastPlace(ctx.sessionManager.getBranch(), STATE);
		const isOwn = at?.session === `pi-${this.conversation}`;
		const mustFollow = ["active", "waiting"].includes(at?.status) && (this.isMove || !isOwn);
		this.closedBecause = null;
		if (!at && states.length === 0 && !mayBeActive(this.config, this.conversation)) return this.screen.status(null);
		try {
			const { reply, standing } = await this.ask("branch", { at, states }, states.length ? SLOW : {});
			if (reply?.failed && mustFollow) this.closedBecause = reply.failed;
			this.keep(standing);
			this.screen.warn(reply?.failed ?? reply?.notice);
		} catch (error) {
			if (mustFollow) this.closedBecause = error.message;
			this.screen.warn(`Handrail could not be asked: ${error.message}`);
		}
		return undefined;
	}

	// Show where the session is, and store it in pi's own history, so that it follows the branch.
	keep(standing) {
		if (!standing) return;
		const { session, project, number, status } = standing;
		this.screen.status(standing.status_line);
		if (!standing.is_new) return;
		this.pi.appendEntry(STATE, { session, project, number, status });
	}

	end() {
		this.stops.end();
		this.child.close();
	}

	// A person wrote: that answers an agent that waits for them.
	async tellOfPrompt() {
		await this.opening;
		if (!this.isActive()) return;
		try {
			this.keep((await this.ask("input", {})).standing);
		} catch (error) {
			this.screen.warn(`Handrail could not be told of your prompt: ${error.message}`);
		}
	}

	// What the agent is told of a phase is kept in pi's history, hidden, so that `/tree` shows where it was told what. The
	// model does not get these messages: it gets the text of now from `beforeModel`.
	async remember(ctx) {
		await this.opening;
		if (!this.isActive()) return undefined;
		const branch = ctx.sessionManager.getBranch();
		const told = branch.filter((entry) => entry.type === "message").map((entry) => entry.message);
		const last = branch.findLast((entry) => entry.type === "custom_message" && entry.customType === CONTEXT);
		try {
			const { reply } = await this.ask("context", { told: marksIn(told, STEP) });
			if (!reply?.text || reply.text === last?.content) return undefined;
			return { message: { customType: CONTEXT, content: reply.text, display: false } };
		} catch {
			return undefined; // `beforeModel` asks again, and says why it failed
		}
	}

	async beforeModel(event) {
		this.messages += 1;
		const messages = this.screen.withoutNotices(event.messages);
		await this.opening;
		if (!this.isActive()) return { messages };
		try {
			const { reply } = await this.ask("context", { told: marksIn(messages, STEP) });
			return { messages: withContext(messages, reply?.text) };
		} catch (error) {
			this.screen.warn(`Handrail could not tell the agent about its phase: ${error.message}`);
			return { messages };
		}
	}

	async beforeTool(event, ctx) {
		if (!isInstalled(this.config)) return undefined;
		await this.opening;
		if (this.closedBecause) await this.follow(ctx);
		if (this.closedBecause && event.toolName !== STEP) return this.block(event, this.closedBecause);
		if (this.parent && mayBeActive(this.config, this.parent)) {
			const verdict = await this.judge(event, ctx, this.parent, true);
			if (verdict) return verdict;
		}
		return mayBeActive(this.config, this.conversation) ? this.judge(event, ctx, this.conversation, false) : undefined;
	}

	async judge(event, ctx, conversation, isSubagent) {
		const asked = { conversation, cwd: ctx.cwd, tool: event.toolName, input: event.input, isSubagent, message: `${process.pid}.${this.messages}`, call: event.toolCallId };
		try {
			const { reply } = await this.ask("tool_call", { ...asked, isOwn: this.isOwn(event.toolName) });
			if (reply?.allow === true) return undefined;
			if (reply?.allow === false) return { block: true, reason: String(reply.reason) };
			throw new Error("it gave no verdict");
		} catch (error) {
			if (!isInstalled(this.config) || !mayBeActive(this.config, conversation)) return undefined;
			return event.toolName === STEP ? undefined : this.block(event, error.message, conversation);
		}
	}

	block(event, why, conversation = this.conversation) {
		const free = `handrail cancel --yes --session pi-${conversation}`;
		return {
			block: true,
			reason:
				`Handrail cannot decide about \`${event.toolName}\`: ${why}. It stays blocked while the workflow is active. ` +
				`A person can free this session in a terminal: \`${free}\`.`,
		};
	}

	// False for a tool of another extension that has the name of ours.
	isOwn(tool) {
		if (tool !== STEP) return false;
		const found = this.pi.getAllTools().find((known) => known.name === STEP);
		const path = found?.sourceInfo?.path;
		return path === undefined || String(path).startsWith(FOLDER);
	}

	async step(id, params, signal, onUpdate, ctx) {
		await this.opening;
		const isNested = this.parent && mayBeActive(this.config, this.parent);
		const conversation = isNested ? this.parent : this.conversation;
		const meta = { conversation, isSubagent: Boolean(isNested), call: id, cwd: ctx.cwd };
		const onProgress = (text) => onUpdate?.({ content: [{ type: "text", text }], details: {} });
		const { action, summary, reason, question } = params;
		const asked = { name: STEP, arguments: { action, summary, reason, question }, _meta: meta };
		const result = await this.child.ask("tools/call", asked, { seconds: 0, signal, onProgress });
		if (!isNested) this.keep(result.standing);
		const text = result.content.map((part) => part.text).join("\n");
		if (result.isError) throw new Error(text);
		const { mark, status } = result.standing ?? {};
		return { content: [{ type: "text", text }], details: { handrail: { mark, status } } };
	}

	async onEnd(event, ctx) {
		const last = event.messages.findLast((message) => message.role === "assistant");
		if (!this.isActive()) return this.stops.over();
		if (ctx.hasPendingMessages()) return undefined;
		const canContinue = this.stops.canContinue(ctx);
		try {
			const asked = { stopReason: canContinue ? (last?.stopReason ?? "stop") : "aborted" };
			const { reply, standing } = await this.ask("agent_end", asked);
			this.keep(standing);
			if (reply?.sendOn) return this.stops.sendOn(reply.sendOn, ctx);
			this.screen.say(reply?.farewell ? "workflow:complete" : "workflow:notice", reply?.farewell ?? reply?.letGo, ctx);
		} catch (error) {
			this.screen.warn(`Handrail could not be asked whether the agent may stop: ${error.message}`);
		}
		return this.stops.over();
	}

	async start(args, ctx) {
		this.stops.stop();
		await this.opening;
		const asked = { name: "workflow", arguments: args };
		let said;
		try {
			said = await this.ask("command", asked, SLOW);
		} catch (error) {
			return this.screen.refuse(`Handrail could not start a workflow: ${error.message}`, ctx);
		}
		const { reply, standing } = said;
		if (reply?.again && ctx.hasUI) {
			const isSure = await ctx.ui.confirm("A workflow is already active", `${reply.held.split("\n")[0]}\n\nStart a new one?`);
			return isSure ? this.start(reply.again, ctx) : undefined;
		}
		if (!reply?.opening) return this.screen.refuse(reply?.held ?? "Handrail gave no answer", ctx);
		this.keep(standing);
		if (standing?.title) this.pi.setSessionName(standing.title);
		this.screen.warn(reply.notice);
		const over = ctx.hasUI ? undefined : this.stops.untilOver();
		this.pi.sendUserMessage(reply.opening, ctx.isIdle() ? undefined : { deliverAs: "followUp" });
		return over;
	}

	async cancel(ctx) {
		this.stops.stop();
		try {
			const { reply, standing } = await this.ask("command", { name: "cancel-workflow", arguments: "" });
			this.closedBecause = null;
			this.keep(standing);
			this.screen.status(null);
			this.screen.tell(reply?.held, ctx);
		} catch (error) {
			this.screen.refuse(`Handrail could not cancel the workflow: ${error.message}`, ctx);
		}
		this.stops.over();
	}

	async completions(typed) {
		if (/\s/.test(typed)) return null;
		try {
			const { reply } = await this.ask("names", {});
			const found = Object.entries(reply?.names ?? {}).filter(([name]) => name.startsWith(typed));
			return found.length ? found.map(([name, title]) => ({ value: `${name} `, label: name, description: title })) : null;
		} catch {
			return null;
		}
	}
}
