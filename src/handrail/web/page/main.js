// The page: which topic the address names, its stream, and a clock that counts while something runs.
import { Component, html, render } from "./dom.js";
import { Home } from "./home.js";
import { Run } from "./run.js";
import { Session } from "./session.js";
import { Stream } from "./stream.js";
import { plural } from "./words.js";

const VIEWS = { home: Home, run: Run, session: Session };

// "/run/r-1" → ["run", "run:r-1"]
const route = (path) => {
  const [, kind, id] = path.split("/").map(decodeURIComponent);
  return id && kind in VIEWS ? [kind, `${kind}:${id}`] : ["home", "home"];
};

class Page extends Component {
  constructor(props) {
    super(props);
    this.state = { tick: 0 };
    this.go = this.go.bind(this);
  }

  componentDidMount() {
    this.open();
    addEventListener("popstate", () => this.open());
    addEventListener("click", this.go);
    addEventListener("pagehide", () => this.stream?.close());
    setInterval(() => this.setState({ tick: this.state.tick + 1 }), 1000);
  }

  // Links inside of the page change the view without loading it again.
  go(event) {
    const link = event.target.closest?.("a[href^='/']");
    if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.defaultPrevented) return;
    event.preventDefault();
    history.pushState(null, "", link.getAttribute("href"));
    this.open();
  }

  open() {
    const [kind, topic] = route(location.pathname);
    this.stream?.close();
    this.kind = kind;
    this.topic = topic;
    const topics = topic === "home" ? ["home"] : ["home", topic];
    this.stream = new Stream(topics, () => this.setState({ tick: this.state.tick }));
    this.setState({ tick: 0 }, () => document.querySelector("h1")?.focus());
  }

  title(needs) {
    const name = this.stream?.of(this.topic)?.head?.name;
    document.title = [needs ? `(${needs})` : "", name ?? "", "Handrail"].filter(Boolean).join(" ");
  }

  render() {
    if (!this.stream) return null;
    const received = this.stream.of(this.topic);
    const needs = this.stream.of("home").rows("entries").filter((row) => row.group === "needs").length;
    const running = this.stream.of("home").rows("entries").filter((row) => row.group === "running").length;
    this.title(needs);
    return html`
      <nav class="top" aria-label="Handrail">
        <a href="/" class="brand">Handrail</a>
        <span class=${needs ? "word waiting" : "mute"}>${needs ? `${plural(needs, "need")}`.replace(/s?$/, "") + (needs === 1 ? "s you" : " you") : "nothing needs you"}</span>
        <span class="mute">${running} running</span>
        <span class="live" role="status">${this.stream.isLive ? "" : this.lost()}</span>
      </nav>
      <main id="main">
        ${this.stream.gone
          ? html`<h1 tabindex="-1">Not found</h1><p role="alert"><bdi>${this.stream.gone.message}</bdi></p>`
          : html`<${VIEWS[this.kind]} id=${this.topic.split(":")[1]} received=${received} live=${this.stream.liveOf(this.topic)} now=${this.stream.now()} />`}
      </main>
    `;
  }

  lost() {
    if (!this.stream.lostAt) return "○ connecting …";
    return `○ Connection lost at ${this.stream.lostAt.toLocaleTimeString([], { hour12: false })}; this page is from then. Retrying.`;
  }
}

render(html`<${Page} />`, document.getElementById("page"));
