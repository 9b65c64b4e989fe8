// The page: which view the address names, the topics that it needs, and a clock that counts while something runs.
import { Catalog, Choose } from "./catalog.js";
import { Definition } from "./definition.js";
import { Dialog, Problem } from "./dialog.js";
import { post, withAnswer } from "./doing.js";
import { Component, bdi, html, readOnly, render } from "./dom.js";
import { applyTheme, Header } from "./header.js";
import { Artifact } from "./files.js";
import { Home } from "./home.js";
import { Help, press } from "./keys.js";
import { LaunchPage } from "./launch.js";
import { NeedPage } from "./need.js";
import { News } from "./news.js";
import { go, route } from "./routes.js";
import { Run } from "./run.js";
import { Session } from "./session.js";
import { Stream } from "./stream.js";
import { Tabs } from "./tabs.js";
import { clock } from "./words.js";

const VIEWS = { home: Home, run: Run, session: Session, need: NeedPage, artifact: Artifact, catalog: Catalog, definition: Definition, choose: Choose, launch: LaunchPage };
const SAY = 2000;
const keyOf = ({ view, kind, id, topic }) => [view, kind, id, topic].join(" ");
const byOrder = (a, b) => ORDER.indexOf(a.group) - ORDER.indexOf(b.group) || a.order - b.order;
const ORDER = ["needs", "running", "delayed", "recent"];

class Page extends Component {
  constructor(props) {
    super(props);
    this.state = { tick: 0, dialog: null, said: "", error: null };
    this.news = new News();
    this.queue = [];
    this.tick = () => this.setState({ tick: this.state.tick + 1 });
  }

  componentDidMount() {
    this.tabs = new Tabs(() => this.follow());
    this.open(true);
    addEventListener("popstate", () => this.open());
    addEventListener("click", (event) => this.click(event));
    addEventListener("keydown", (event) => {
      if (event.key === "Tab") this.wantsFocus = false; // a person has chosen a place
      press(event);
    });
    addEventListener("shown", () => this.focus());
    addEventListener("pagehide", () => this.stream?.close());
    addEventListener("pageshow", (event) => event.persisted && this.follow(true));
    setInterval(this.tick, 1000);
    setInterval(() => this.say(), SAY);
  }

  // Links inside of the page change the view without loading it again.
  click(event) {
    const link = event.target.closest?.("a[href^='/']");
    if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.defaultPrevented) return;
    if (link.hasAttribute("download") || link.getAttribute("href").startsWith("/api/")) return;
    event.preventDefault();
    go(link.getAttribute("href"));
  }

  open(isFirst) {
    const before = this.at;
    this.at = route(location);
    this.follow();
    const isSame = before && keyOf(before) === keyOf(this.at);
    if (isSame) return this.tick();
    this.wantsFocus = this.isFinding = false;
    scrollTo(0, 0);
    return this.setState({ dialog: null }, () => {
      this.wantsFocus = !isFirst || location.pathname !== "/";
      this.focus();
    });
  }

  // A new page focuses its heading, or the field to find something, as soon as there is one.
  focus() {
    const wanted = this.isFinding || this.at.view === "choose" ? 'main [aria-keyshortcuts="/"]' : "main h1[tabindex]"; // no `tabindex` while it is being read
    const found = this.wantsFocus && document.querySelector(wanted);
    if (!found) return;
    this.wantsFocus = false;
    if (document.activeElement === document.body || !document.activeElement?.closest("main")) found.focus();
  }

  componentDidUpdate() {
    this.focus();
  }

  // The stream for this view, as far as this tab may have one.
  follow(isAgain) {
    const { mode } = this.tabs;
    const topics = mode === "home" ? ["home"] : this.at.topics;
    const key = mode === "none" ? "" : topics.join(",");
    if (key !== this.followed || isAgain) {
      const old = this.stream;
      old?.close();
      this.followed = key;
      if (key) this.stream = new Stream(topics, () => this.take(), { shown: this.at.topics, isPolling: mode === "poll", old });
    }
    this.stream?.poll(mode === "poll");
    this.tick();
  }

  take() {
    const rows = this.stream.of("home").seq ? this.rows() : [];
    if (rows.length) this.queue.push(...this.news.take(rows));
    const row = rows.find((one) => one.id === this.at.topic);
    if (row?.seen === false && !readOnly && this.marked !== row.id && document.visibilityState === "visible") {
      this.marked = row.id;
      post("/api/seen", { ids: [row.id] }).catch(() => {});
    }
    this.tick();
  }

  // One sentence for screen readers, at most every two seconds.
  say() {
    if (this.queue.length) this.setState({ said: this.queue.splice(0).slice(-3).join(". ") });
  }

  rows() {
    return this.stream.of("home").rows("entries").map(withAnswer).sort(byOrder);
  }

  title(needs) {
    const name = this.stream.of(this.at.topic)?.head?.name ?? (this.at.view === "home" ? "" : this.at.id || this.at.view);
    document.title = [needs ? `(${needs})` : "", name, "Handrail"].filter(Boolean).join(" ");
    const icon = document.getElementById("icon");
    const href = icon.href.replace(/icon(-need)?\.svg$/, needs ? "icon-need.svg" : "icon.svg");
    if (icon.href !== href) icon.href = href;
  }

  find() {
    go("/");
    this.isFinding = true;
  }

  async close() {
    try {
      await post("/api/close", {});
      this.setState({ dialog: null });
    } catch (error) {
      this.setState({ error });
    }
  }

  render(_, { dialog, said, error }) {
    if (!this.stream) return null;
    const { stream, at } = this;
    const rows = this.rows();
    this.title(rows.filter((row) => row.group === "needs").length);
    const set = (name) => () => this.setState({ dialog: name, error: null });
    return html`
      <${Header} head=${stream.of("home").head} rows=${rows} topic=${at.topic} view=${at.view} isLive=${stream.isLive}
        onHelp=${set("help")} onClose=${set("close")} onFind=${() => this.find()} />
      ${this.lost()}
      <main id="main" tabindex="-1">${this.view(rows)}</main>
      <p role="status" class="unseen">${said}</p>
      ${dialog === "help" ? html`<${Help} onClose=${set(null)} />` : null}
      ${dialog === "close" ? html`
        <${Dialog} title="Shut down the server?" onClose=${set(null)}>
          <p>Runs go on without it. \`handrail web\` starts it again.</p>
          <${Problem} error=${error} />
          <p class="buttons"><button onClick=${() => this.close()}>Shut down</button><button onClick=${set(null)}>Leave it running</button></p>
        <//>` : null}
    `;
  }

  view(rows) {
    const { stream, at } = this;
    if (stream.refused?.status === 404) // also if it was there a moment ago
      return html`<h1 tabindex="-1">${stream.of(at.topic)?.head ? "Gone" : "Not found"}</h1><p role="alert">${bdi(stream.refused.message)}${stream.refused.hint ? html`<br /><span class="mute">${bdi(stream.refused.hint)}</span>` : null}</p><p><a class="button" href="/">Home</a></p>`;
    const received = stream.of(at.topic) ?? stream.of("home");
    return html`<${VIEWS[at.view] ?? Home} key=${keyOf(at)} ...${at} received=${received} home=${stream.of("home")} rows=${rows}
      catalog=${stream.of("catalog")} live=${stream.liveOf(at.topic)} now=${stream.now()} stream=${stream} readOnly=${readOnly} />`;
  }

  lost() {
    const { isLive, refused, lostAt } = this.stream;
    if (isLive || refused?.status === 404) return null;
    if (refused) return html`<p role="alert" class="banner">✗ ${bdi(refused.message)} ${bdi(refused.hint ?? "")}</p>`;
    if (!lostAt) return null;
    return html`<p role="alert" class="banner">○ Connection lost at ${clock(lostAt)}; this page is from then. Retrying.</p>`;
  }
}

applyTheme();
render(html`<${Page} />`, document.getElementById("page"));
