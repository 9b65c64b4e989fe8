// One run: its head, and one of the views that its address names, with a drawer for one step.
import { changeQuery, inQuery, toQuery } from "./address.js";
import { Component, html, readOnly, remembered } from "./dom.js";
import { get, needsOf, post } from "./doing.js";
import { Drawer } from "./drawer.js";
import { Outline } from "./outline.js";
import { needAddress } from "./routes.js";
import { RunHead } from "./runhead.js";
import { Spans, scaleOf } from "./spans.js";
import { VIEWS } from "./views.js";

const ACTIVE = new Set(["running", "waiting", "delayed"]);
export const isNarrow = () => matchMedia("(max-width: 899px)").matches;

const tabsOf = ({ artifacts, checks }) => {
  const failed = checks.filter((check) => check.held === false).length;
  return [
    ["progress", "Progress"], ["graph", "Graph"], ["tail", "Tail"], ["summary", "Summary"],
    ["artifacts", `Artifacts ${artifacts.length || ""}`], ["checks", `Checks ${failed ? `✗${failed}` : checks.length || ""}`],
    ["changes", "Changes"], ["log", "Log"],
  ];
};

class RunPage extends Component {
  constructor(props) {
    super(props);
    this.state = { touched: {} };
    this.more = { count: 0, nodes: new Map(), bars: new Map() };
  }

  componentDidMount() {
    this.settle();
  }

  componentDidUpdate() {
    this.uncover();
    this.settle();
  }

  // What the rows say, made again only if they changed.
  model() {
    const { received } = this.props;
    const head = received.head;
    const isInterrupted = ["running", "delayed"].includes(head.status) && this.isAlone();
    const status = isInterrupted ? "interrupted" : this.known()?.status === "answered" ? "answered" : head.status;
    const mark = [received.epoch, received.seq, status, this.more.count].join(" ");
    if (this.made?.mark !== mark) {
      const outline = new Outline(this.with("nodes"), isInterrupted);
      const spans = new Spans(this.with("bars"), outline);
      this.made = { mark, outline, spans, head, status };
      for (const section of ["artifacts", "checks"]) this.made[section] = received.rows(section);
    }
    this.made.needs = needsOf(received, `run:${this.props.id}`);
    return this.made;
  }

  // True if no process drives this run. The list of everything hears of it first.
  isAlone() {
    const { live } = this.props;
    const known = this.known();
    return known ? known.status === "interrupted" : live != null && live.driver === null && !live.program;
  }

  // What the list of everything says about this run.
  known() {
    return this.props.rows?.find((row) => row.id === `run:${this.props.id}`);
  }

  // The rows of a section, with those that were fetched when a phase was opened.
  with(section) {
    const rows = this.props.received.rows(section);
    const known = new Set(rows.map((row) => row.id));
    return [...rows, ...[...this.more[section].values()].filter((row) => !known.has(row.id))];
  }

  // The first time: open what a person wants to see first. Later: open what failed, unless a person chose a step.
  settle() {
    const { received } = this.props;
    if (!received.head || received.isWhole === false) return;
    const before = this.settled;
    this.settled = received.head.status;
    if (!before) {
      this.markSeen();
      if (inQuery("view") || inQuery("step")) this.unfoldTo(inQuery("step"));
      else this.openFirst();
    } else if (this.isUntouched() && ((before !== "failed" && this.settled === "failed") || this.isBehind())) this.openFirst();
  }

  // True if the step beside the tree is over and another one runs. Until a person chooses, the page shows what is printed now.
  isBehind() {
    if (!ACTIVE.has(this.settled) || isNarrow() || !this.isOpened) return false;
    const { outline, head, needs } = this.model();
    if (ACTIVE.has(outline.byId.get(this.beside)?.status)) return false;
    return ![null, this.beside].includes(outline.firstPlace(head, needs));
  }

  // True if the page itself chose what is open.
  isUntouched() {
    return !this.isChosen && (inQuery("step") ?? this.beside) === this.beside && (inQuery("view") ?? "progress") === "progress";
  }

  // What a person wants to see first. The address then says so. On a phone a step would hide the page.
  openFirst() {
    const { outline, needs, head } = this.model();
    const place = outline.firstPlace(head, needs);
    this.isOpened = true;
    const isNew = !head.done && (remembered.get("launched") ?? []).includes(this.props.id);
    if (!place) return changeQuery({ view: !ACTIVE.has(head.status) ? "summary" : isNew && isNarrow() ? "tail" : "progress" }, true);
    this.setState({ at: place });
    this.unfoldTo(place);
    if (isNarrow()) return;
    this.beside = place;
    changeQuery({ step: place }, true);
  }

  // What the page opened beside the tree does not cover it when the window becomes narrow.
  uncover() {
    if (!this.beside || this.isChosen || inQuery("step") !== this.beside || !isNarrow()) return;
    this.beside = undefined;
    changeQuery({ step: null }, true);
  }

  // A failure that somebody has opened needs nobody any more.
  markSeen() {
    const known = this.known();
    if (known?.seen === false && !readOnly) post("/api/seen", { ids: [known.id] }).catch(() => {}); // home still says it is new
  }

  unfoldTo(step) {
    if (!step) return;
    const opened = this.model().outline.ancestors(step).map((row) => [row.id, false]);
    this.setState({ touched: { ...this.state.touched, ...Object.fromEntries(opened) } });
  }

  async fold(row, isFolded) {
    this.setState({ touched: { ...this.state.touched, [row.id]: isFolded } });
    const { outline } = this.model();
    const wanted = outline.only(row) ?? row;
    if (!isFolded && !outline.below.has(wanted.id)) await this.fetch(wanted);
  }

  // The rows below a phase that the server did not send by itself.
  async fetch(row) {
    try {
      const found = await get(`/api/runs/${encodeURIComponent(this.props.id)}/nodes?under=${encodeURIComponent(row.id)}`);
      for (const section of ["nodes", "bars"]) for (const one of found[section] ?? []) this.more[section].set(one.id, one);
      this.more.count += 1;
      this.setState({ problem: null });
    } catch (problem) {
      this.setState({ problem });
    }
  }

  open(row, number) {
    this.opener = document.activeElement;
    this.isChosen = true;
    changeQuery({ step: row.id, try: number ?? null, part: number ? inQuery("part") : null });
  }

  close() {
    this.isChosen = true;
    const opener = this.opener?.isConnected ? this.opener : document.getElementById(`node ${inQuery("step")}`);
    changeQuery({ step: null, try: null, part: null });
    opener?.focus();
  }

  // Esc closes the step, wherever the focus is.
  key(event) {
    if (event.key !== "Escape" || event.defaultPrevented || event.target.closest("dialog, input")) return;
    event.preventDefault();
    this.close();
  }

  scale(made) {
    const { head, spans, status } = made;
    const from = head.started ?? spans.first();
    if (from == null) return null;
    return scaleOf(spans.all, { from, to: Math.max(this.end(made), from), isShrunk: inQuery("idle") !== "all", isOpen: ACTIVE.has(status) });
  }

  // Where time ends on this page: now, at the end of the run, or at the last thing that a killed run did.
  end({ head, spans, status }) {
    if (status === "interrupted") return Math.max(spans.last() ?? head.started, this.props.received.tail.rows.at(-1)?.t ?? 0);
    return head.ended ?? this.props.now;
  }

  // How long Handrail drove this run: the same as on home.
  took({ head, status }) {
    if (status === "interrupted") return this.known()?.seconds ?? head.seconds;
    return head.since == null ? head.seconds : Math.max(0, this.props.now - head.since);
  }

  render({ id, received, now }, { touched, problem, at }) {
    if (!received.head || received.isWhole === false) return html`<h1 class="empty">Reading the run …</h1>`;
    const made = this.model();
    const { outline, spans, head, artifacts, needs } = made;
    const end = this.end(made);
    const view = inQuery("view") ?? "progress";
    const step = inQuery("step");
    const isCovered = Boolean(step) && isNarrow();
    const View = VIEWS[view] ?? VIEWS.progress;
    const lastEvent = Math.max(spans.last() ?? 0, received.tail?.rows.at(-1)?.t ?? 0);
    const need = needs.find((one) => !one.answered);
    const sent = need ? null : needs.find((one) => one.sent);
    const status = sent && made.status === "waiting" ? "running" : made.status;
    const place = head.why?.path ? outline.words(outline.innermost(head.why.path)) : null;
    return html`
      <div class=${`run ${step ? "has-drawer" : ""}`} onKeyDown=${(event) => step && this.key(event)}>
        <div class="above" inert=${isCovered}>
          <${RunHead} id=${id} head=${head} status=${status} took=${this.took(made)} quiet=${lastEvent ? now - lastEvent : 0} delay=${(this.known()?.delay?.until ?? now) - now} artifacts=${artifacts} place=${place} />
          ${need ? html`<p class="asks"><span class="word waiting" aria-hidden="true">?</span> <bdi>${need.title}</bdi> <a class="button" aria-keyshortcuts="a" href=${needAddress(`run:${id}`, need.id)}>Answer</a></p>` : null}
          ${sent ? html`<p class="asks sent" role="status"><span class="word done" aria-hidden="true">✓</span> <bdi>${sent.title}</bdi> was ${sent.answered.verdict}: the run goes on.</p>` : null}
          ${problem ? html`<p role="alert" class="error"><bdi>${problem.message}</bdi></p>` : null}
          <nav class="tabs" aria-label="Views of this run">
            ${tabsOf(made).map(([name, words], index) => html`
              <a key=${name} ...${toQuery({ view: name, q: null, kind: null })} aria-current=${name === view ? "page" : undefined} aria-keyshortcuts=${index + 1}>${words.trim()}</a>
            `)}
          </nav>
        </div>
        <div class="whole" inert=${isCovered}>
          <${View}
            id=${id} made=${made} received=${received} touched=${touched} here=${step ?? at} now=${now} end=${end} scale=${this.scale(made)}
            onFold=${(row, isFolded) => this.fold(row, isFolded)} onOpen=${(row, number) => this.open(row, number)}
          />
        </div>
        ${step ? html`<${Drawer} key=${step} id=${id} path=${step} made=${made} received=${received} end=${end} onClose=${() => this.close()} />` : null}
      </div>
    `;
  }
}

export const Run = (props) => html`<${RunPage} key=${props.id} ...${props} />`;
