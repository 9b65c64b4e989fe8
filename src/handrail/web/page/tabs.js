// Several tabs share the few connections that a browser allows: a hidden tab closes its stream after a while, except
// one that watches for what needs a person; of more than four visible tabs the oldest ask now and then instead.

const MOST_STREAMS = 4;
const HIDDEN = 10_000;
const SAY_AGAIN = 10_000;

export class Tabs {
  // `onChange` is called when what this tab may do has changed: `mode` is "stream", "poll", "home" or "none".
  constructor(onChange) {
    this.onChange = onChange;
    this.id = `${Date.now().toString(36).padStart(9, "0")}-${Math.random().toString(36).slice(2)}`; // the oldest is the first
    this.others = new Map();
    this.mode = "stream";
    this.channel = new BroadcastChannel("handrail");
    this.channel.onmessage = ({ data }) => this.hear(data);
    addEventListener("pagehide", () => this.say("left"));
    document.addEventListener("visibilitychange", () => this.look());
    setInterval(() => this.isVisible && this.say("here"), SAY_AGAIN);
    this.look();
  }

  get isVisible() {
    return document.visibilityState === "visible";
  }

  say(word) {
    this.channel.postMessage({ word, id: this.id });
  }

  hear({ word, id }) {
    const isNew = word === "here" && !this.others.has(id);
    word === "here" ? this.others.set(id, Date.now()) : this.others.delete(id);
    if (isNew && this.isVisible) this.say("here");
    this.judge();
  }

  look() {
    clearTimeout(this.timer);
    this.say(this.isVisible ? "here" : "left");
    if (this.isVisible) {
      this.release?.();
      this.judge();
    } else {
      this.timer = setTimeout(() => this.rest(), HIDDEN);
    }
  }

  judge() {
    if (!this.isVisible) return;
    const recent = Date.now() - 3 * SAY_AGAIN;
    for (const [id, at] of this.others) if (at < recent) this.others.delete(id);
    const younger = [...this.others.keys()].filter((id) => id > this.id).length;
    this.set(younger >= MOST_STREAMS ? "poll" : "stream");
  }

  rest() {
    this.set("none");
    navigator.locks?.request("handrail-home", () => {
      if (this.isVisible) return null;
      this.set("home");
      return new Promise((done) => (this.release = done));
    });
  }

  set(mode) {
    if (mode === this.mode) return;
    this.mode = mode;
    this.onChange(mode);
  }
}
