// One Handrail process for a plugin that stays loaded: newline-delimited JSON-RPC on its stdin and stdout.
//
// It is started when it is first needed. If it is lost, open requests fail and the next request starts a new one; after
// `close` nothing starts it again.

import { spawn } from "node:child_process";

const SECONDS = 10;

export class Child {
	constructor(config) {
		this.config = config;
		this.process = null;
		this.waiting = new Map();
		this.number = 0;
		this.isClosed = false;
	}

	// The result of a request. Rejects if Handrail fails, is lost (`isLost`), or does not answer in time.
	ask(method, params, { seconds = SECONDS, signal, onProgress } = {}) {
		return new Promise((resolve, reject) => {
			if (this.isClosed) throw new Error("the session has ended");
			const process = this.started();
			const id = ++this.number;
			const finish = (settle) => (value) => {
				clearTimeout(timer);
				signal?.removeEventListener("abort", abort);
				this.waiting.delete(id);
				settle(value);
			};
			const fail = finish(reject);
			const abort = () => {
				this.send(process, { method: "notifications/cancelled", params: { requestId: id } });
				fail(new Error("it was interrupted"));
			};
			const late = () => {
				this.lose(process, `it did not answer within ${seconds} seconds`, false);
			};
			const timer = seconds > 0 ? setTimeout(late, seconds * 1000) : undefined;
			if (signal?.aborted) return abort();
			signal?.addEventListener("abort", abort, { once: true });
			this.waiting.set(id, { process, resolve: finish(resolve), reject: fail, onProgress });
			const meta = onProgress ? { ...params, _meta: { ...params._meta, progressToken: id } } : params;
			this.send(process, { id, method, params: meta });
		});
	}

	started() {
		if (this.process) return this.process;
		const [program, ...rest] = this.config.command;
		const child = spawn(program, rest, {
			cwd: this.config.cwd,
			env: { ...process.env, ...this.config.env },
			stdio: ["pipe", "pipe", "pipe"],
		});
		this.process = child;
		let text = "";
		let said = "";
		child.stdout.setEncoding("utf8");
		child.stdout.on("data", (part) => {
			text += part;
			for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
				this.hear(child, text.slice(0, end));
				text = text.slice(end + 1);
			}
		});
		child.stderr.setEncoding("utf8");
		child.stderr.on("data", (part) => {
			said = (said + part).slice(-2000);
		});
		child.stdin.on("error", () => {});
		child.on("error", (error) => this.lose(child, `it cannot be started: ${error.message}`));
		child.on("close", (code, name) => this.lose(child, `it ended (${name ?? code}) ${said.trim()}`.trim()));
		return child;
	}

	send(child, message) {
		child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
	}

	hear(child, line) {
		let message;
		try {
			message = JSON.parse(line);
		} catch {
			return this.lose(child, "it answered something that is not JSON");
		}
		if (message?.method === "notifications/progress") {
			return this.waiting.get(message.params?.progressToken)?.onProgress?.(String(message.params.message ?? ""));
		}
		const call = this.waiting.get(message?.id);
		if (!call) return undefined;
		if (message.error) return call.reject(new Error(String(message.error.message)));
		if (typeof message.result !== "object" || message.result === null) {
			return call.reject(new Error("it answered nothing"));
		}
		return call.resolve(message.result);
	}

	// Give up a process: every open request to it fails, and the next request starts another one.
	lose(child, why, isLost = true) {
		if (this.process === child) this.process = null;
		child.kill("SIGKILL");
		for (const call of [...this.waiting.values()]) {
			if (call.process === child) call.reject(Object.assign(new Error(why), { isLost }));
		}
	}

	close() {
		this.isClosed = true;
		const child = this.process;
		this.process = null;
		for (const call of [...this.waiting.values()]) call.reject(new Error("the session has ended"));
		child?.stdin.end();
		child?.unref();
	}
}
