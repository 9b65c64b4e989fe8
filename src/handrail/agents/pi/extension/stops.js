// The agent stopped, and Handrail sends it on: at once if nobody watches, else after a countdown that a person can stop
// by typing.

const SECONDS = 3;
const WIDGET = "workflow:countdown";

export class Stops {
	constructor(pi, screen) {
		this.pi = pi;
		this.screen = screen;
		this.running = null;
		this.waiting = [];
		this.hasEnded = false;
	}

	// False in an old pi without a screen: it ends before it would continue. It still waits for a command of ours.
	canContinue(ctx) {
		return ctx.hasUI || ctx.mode !== undefined || this.waiting.length > 0;
	}

	sendOn(text, ctx) {
		this.stop();
		if (this.hasEnded) return;
		if (!ctx.hasUI) return this.send(text);
		const countdown = { left: SECONDS, timer: null, off: null };
		this.running = countdown;
		countdown.off = ctx.ui.onTerminalInput?.(() => {
			this.interrupt();
			return undefined;
		});
		const tick = () => {
			if (this.running !== countdown) return;
			if (countdown.left === 0) return this.screen.whenIdle(() => this.expire(countdown, text));
			this.screen.widget(WIDGET, `⏳ The workflow continues in ${countdown.left}s (type anything to stop this)`);
			countdown.left -= 1;
			countdown.timer = setTimeout(tick, 1000);
		};
		tick();
	}

	// Nothing is sent if somebody wrote a prompt while pi finished its turn.
	expire(countdown, text) {
		if (this.running !== countdown) return;
		this.stop();
		this.send(text);
	}

	send(text) {
		if (this.hasEnded) return;
		const message = { customType: "workflow:reminder", content: text, display: true };
		this.pi.sendMessage(message, { triggerTurn: true, deliverAs: "followUp" });
	}

	// A person types: they decide what happens next.
	interrupt() {
		if (!this.running) return;
		this.stop();
		this.screen.widget(WIDGET, "⏸ The workflow waits for you: write a prompt to continue it");
	}

	working() {
		this.stop();
	}

	stop() {
		const countdown = this.running;
		this.running = null;
		clearTimeout(countdown?.timer);
		countdown?.off?.();
		this.screen.widget(WIDGET, null);
	}

	untilOver() {
		return new Promise((resolve) => this.waiting.push(resolve));
	}

	over() {
		const waiting = this.waiting.splice(0);
		if (waiting.length === 0) return;
		this.screen.whenIdle(() => {
			this.screen.flush();
			for (const resolve of waiting) resolve();
		});
	}

	end() {
		this.hasEnded = true;
		this.stop();
		for (const resolve of this.waiting.splice(0)) resolve();
	}
}
