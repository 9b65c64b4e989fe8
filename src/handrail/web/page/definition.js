// One definition: its text with problems at their lines, its plan, its graph, its runs.
import { canLaunch, nameOf, problemWords } from "./catalog.js";
import { Graph as Drawing } from "./cards.js";
import { Problem } from "./dialog.js";
import { get } from "./doing.js";
import { bdi, Component, html } from "./dom.js";
import { addressOf, ask, launchAddress } from "./routes.js";
import { graphOf, graphOfStops } from "./shapes.js";
import { moment, SIGNS, WORDS } from "./words.js";

const VIEWS = ["Text", "Plan", "Graph", "Runs"];

const Mark = ({ problem }) => html`
  <span class=${`mark ${problem.severity === "error" ? "failed" : "interrupted"}`}>${" ".repeat(Math.max(0, (problem.column ?? 1) - 1))}${"^".repeat(Math.min(80, Math.max(1, problem.width ?? 1)))} ${problem.severity}[${problem.code ?? problem.rule}] ${bdi(problem.message)}${problem.hint ? html`
${" ".repeat(Math.max(0, (problem.column ?? 1) - 1))}hint: ${bdi(problem.hint)}` : null}
</span>`;

export const Source = ({ text, problems }) => {
  const byLine = new Map();
  for (const problem of problems ?? []) byLine.set(problem.line ?? 1, [...(byLine.get(problem.line ?? 1) ?? []), problem]);
  return html`<ol class="source" tabindex="0" aria-label="Text">${(text ?? "").split("\n").map((line, index) => {
    const found = byLine.get(index + 1) ?? [];
    return html`<li key=${index} id=${`line-${index + 1}`} class=${found.length ? "wrong" : ""}><code>${bdi(line || " ")}</code>${found.map((problem, number) => html`<${Mark} key=${number} problem=${problem} />`)}</li>`;
  })}</ol>`;
};

const Plan = ({ rows }) => {
  const below = new Map();
  for (const row of [...rows].sort((a, b) => a.order - b.order)) below.set(row.parent ?? "", [...(below.get(row.parent ?? "") ?? []), row]);
  const list = (parent) => html`<ul class="plan">${below.get(parent).map((row) => html`
    <li key=${row.id}>${row.kind === "repeat" ? `↻ up to ${row.rounds ?? "–"} · ` : ""}${bdi(row.name)} <span class="mute">${bdi([row.node ?? row.kind, row.who, row.flow && `flow ${row.flow}`, row.when && `when ${row.when}`].filter(Boolean).join(" · "))}</span>
      ${below.has(row.id) ? list(row.id) : null}</li>`)}</ul>`;
  return rows.length ? list("") : html`<p class="empty">There is no plan while it has errors.</p>`;
};

const Graph = ({ found, name }) => html`<${Drawing} item=${found.stops ? graphOfStops(found.stops) : graphOf(found.plan)} took=${() => null} label=${`Graph of ${name}`} />`;

const Runs = ({ rows, now }) => rows.length ? html`<ul>${rows.map((row) => html`
  <li key=${row.id} class="entry"><span class=${`sign ${row.status}`} aria-hidden="true">${SIGNS[row.status]}</span><span class="title"><a class="name" href=${addressOf(row.id)}>${bdi(row.id.slice(4))}</a> <span class="about">${bdi(row.about)}</span></span>
    <span class="what"></span><span class=${`word ${row.status}`}>${WORDS[row.status] ?? row.status}</span><span class="figure">${moment(row.ended ?? row.started, now)}</span></li>`)}</ul>` : html`<p class="empty">No run on home is of this definition.</p>`;

export class Definition extends Component {
  componentDidMount() {
    this.read();
  }

  componentDidUpdate() {
    if (this.entry()?.v !== this.version) this.read();
  }

  entry() {
    const { kind, id, catalog } = this.props;
    return catalog?.rows("entries").find((entry) => entry.kind === kind && (entry.id === id || nameOf(entry) === id || entry.name === id));
  }

  async read() {
    const { kind, id } = this.props;
    this.version = this.entry()?.v;
    try {
      this.setState({ found: await get(`/api/definitions/${encodeURIComponent(kind)}/${encodeURIComponent(id)}`), error: null });
    } catch (error) {
      this.setState({ error });
    }
  }

  body(view, found, entry) {
    const rows = found.plan ?? [];
    if (view === "Plan") return html`<${Plan} rows=${rows} />`;
    if (view === "Graph") return rows.length || found.stops ? html`<${Graph} found=${found} name=${entry?.name ?? this.props.id} />` : html`<p class="empty">There is no graph while it has errors.</p>`;
    if (view === "Runs") return html`<${Runs} rows=${this.props.rows.filter((row) => row.name === entry?.name || row.name === this.props.id || row.flow === this.props.id)} now=${this.props.now} />`;
    return found.texts
      ? found.texts.map((file) => html`<section key=${file.file}><h3>${bdi(file.file)}</h3><${Source} text=${file.text} problems=${file.problems} /></section>`)
      : html`<${Source} text=${found.text} problems=${found.problems} />`;
  }

  render({ kind, id, query, readOnly }, { found, error }) {
    const entry = this.entry();
    const view = VIEWS.find((one) => one.toLowerCase() === query.get("view")) ?? "Text";
    const words = entry ? problemWords(entry) : "";
    return html`
      <p class="crumbs"><a href="/catalog" aria-keyshortcuts="b">‹ catalog</a></p>
      <div class="titlebar"><h1 tabindex="-1">${bdi(entry?.name ?? id)} <span class="about">${kind}${entry?.file ? html` · ${bdi(entry.file)}` : null}</span></h1>
        ${entry && !canLaunch(entry) ? html`<button disabled>Launch: not while it has errors</button>` : html`<a class="button" href=${launchAddress(kind, id)} aria-disabled=${readOnly ? "true" : undefined}>Launch</a>`}</div>
      ${entry?.description ? html`<p class="text">${bdi(entry.description)}</p>` : null}
      ${words ? html`<p class="notice">${bdi(words)}</p>` : null}
      <nav class="tabs" aria-label="Views">${VIEWS.map((one, index) => html`<button key=${one} aria-keyshortcuts=${String(index + 1)} aria-current=${one === view ? "page" : undefined} onClick=${() => ask({ view: one.toLowerCase() }, "push")}>${one}</button>`)}</nav>
      ${found ? this.body(view, found, entry) : error ? html`<${Problem} error=${error} />` : html`<p class="empty">Reading …</p>`}
    `;
  }
}
