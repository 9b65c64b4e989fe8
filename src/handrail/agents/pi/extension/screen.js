// What a person sees: the status line, a widget, notices and messages. A context that pi has replaced is not used again.

import { Text } from "./text.js";

const STATUS = "workflow";
const NOT_FOR_MODEL = new Set(["workflow:complete", "workflow:notice", "workflow:context"]);
const LOOK_AGAIN = 50;

export class Screen {
	constructor(pi) {
		this.pi = pi;
		this.ctx = null;
		this.line = null;
		this.widgets = new Map();
		this.later = [];
	}

	register() {
		const shown = (prefix, color, isWhole) => (message, options, theme) => {
			const text = typeof message.content === "string" ? message.content : "";
			return new Text(prefix + (isWhole || options.expanded ? text : firstLine(text)), (line) => theme.fg(color, line));
		};
		this.pi.registerMessageRenderer("workflow:complete", shown("", "success", true));
		this.pi.registerMessageRenderer("workflow:notice", shown("", "warning", true));
		this.pi.registerMessageRenderer("workflow:reminder", shown("⏳ ", "dim", false));
	}

	// A call of `workflow_step`: its action, and what was done.
	renderCall(name, args, theme) {
		const words = [name, args?.action, args?.summary ?? args?.reason].filter(Boolean);
		return new Text(firstLine(words.join(" ")), (line) => theme.fg("toolTitle", line));
	}

	// The result of `workflow_step`: the end of a workflow is shown whole, everything else by its first line.
	renderStep(result, options, theme) {
		const text = result.content.map((part) => part.text ?? "").join("\n");
		const isShort = !options.expanded && result.details?.handrail?.status === "active";
		return new Text(isShort ? firstLine(text) : text, (line) => theme.fg("toolOutput", line));
	}

	show(ctx) {
		this.ctx = ctx;
		this.line = null;
	}

	// Call a function with pi's context, unless pi has replaced it meanwhile.
	use(call) {
		try {
			return this.ctx ? call(this.ctx) : undefined;
		} catch (error) {
			if (!/stale/i.test(String(error?.message))) throw error;
			return undefined;
		}
	}

	status(line) {
		const text = line ?? undefined;
		if (text === (this.line ?? undefined)) return;
		this.line = text;
		this.use((ctx) => ctx.ui.setStatus(STATUS, text));
	}

	widget(name, text) {
		if ((this.widgets.get(name) ?? null) === text) return;
		this.widgets.set(name, text);
		this.use((ctx) => ctx.ui.setWidget(name, text === null ? undefined : [text]));
	}

	warn(text) {
		if (text) this.use((ctx) => (ctx.hasUI ? ctx.ui.notify(text, "warning") : process.stderr.write(`${text}\n`)));
	}

	tell(text, ctx, level = "info") {
		if (text && ctx.hasUI) ctx.ui.notify(text, level);
		else if (text) process.stderr.write(`${text}\n`);
	}

	// A command that was not carried out. Without a screen, the exit code says so, too.
	refuse(text, ctx) {
		if (!ctx.hasUI) process.exitCode = 1;
		this.tell(text, ctx, "error");
	}

	// A message in the conversation. It is for the person only: `withoutNotices` keeps it from the model.
	say(customType, content, ctx) {
		if (!content) return;
		this.later.push({ customType, content, display: true });
		if (ctx.mode === undefined || ctx.hasUI) this.whenIdle(() => this.flush());
	}

	flush() {
		for (const message of this.later.splice(0)) this.use(() => this.pi.sendMessage(message, { triggerTurn: false }));
	}

	withoutNotices(messages) {
		return messages.filter((message) => message.role !== "custom" || !NOT_FOR_MODEL.has(message.customType));
	}

	whenIdle(call) {
		if (this.use((ctx) => ctx.isIdle()) !== false) return call();
		return setTimeout(() => this.whenIdle(call), LOOK_AGAIN);
	}
}

function firstLine(text) {
	return text.split("\n")[0];
}
