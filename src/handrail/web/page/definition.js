// One definition: its text with problems at their lines, its plan, its graph, its runs.
import { canLaunch, nameOf, problemWords } from "./catalog.js";
import { Graph as Drawing } from "./cards.js";
import { Problem } from "./dialog.js";
import { get } from "./doing.js";
import { bdi, Component, html } from "./dom.js";
import { addressOf, ask, launchAddress } from "./routes.js";
import { moment, plural, SIGNS, WORDS } from "./words.js";

const VIEWS = ["Text", "Plan", "Graph", "Runs"];

const Mark = ({ problem }) => {
  const indent = " ".repeat(Math.max(0, (problem.column ?? 1) - 1));
  const carets = "^".repeat(Math.min(80, Math.max(1, problem.width ?? 1)));
  return html`
    <span class=${`mark ${problem.severity === "error" ? "failed" : "interrupted"}`}>${indent}${carets} ${problem.severity}[${problem.code}] ${bdi(problem.message)}${problem.hint ? html`<span class="hint">${indent}${" ".repeat(carets.length)} hint: ${bdi(problem.hint)}</span>` : null}</span>
    ${problem.meaning ? html`<details class="explain"><summary>explain<span class="unseen"> ${problem.code}</span></summary><p>${problem.meaning}</p><p>${problem.cure}</p></details>` : null}
  `;
};

// The text with its problems. `at` is the line that the address names.
const Source = ({ text, problems, at }) => {
  const byLine = new Map();
  for (const problem of problems ?? []) byLine.set(problem.line ?? 1, [...(byLine.get(problem.line ?? 1) ?? []), problem]);
  return html`<ol class="source" tabindex="0" aria-label="Text">${(text ?? "").split("\n").map((line, index) => {
    const found = byLine.get(index + 1) ?? [];
    return html`<li key=${index} id=${`line-${index + 1}`} class=${found.length ? "wrong" : index + 1 === at ? "at" : ""} ref=${index + 1 === at ? bringIntoView : undefined}><code>${bdi(line || " ")}</code>${found.map((problem, number) => html`<${Mark} key=${number} problem=${problem} />`)}</li>`;
  })}</ol>`;
};

const bringIntoView = (element) => element?.scrollIntoView({ block: "center" });

// An item of the plan in words: what it is, who does it, when.
const about = (item) => [item.parallel && "steps at the same time", item.node, item.group && `agent: ${item.group}`, item.flow && `flow ${item.flow}`, item.tries > 1 && `${item.tries} tries`, item.when && `when ${item.when}`,
  item.stops && `stops if ${item.stops}`, item.exit?.length && `exit: ${item.exit.join(", ")}`, item.loopable && "↻ may start over"].filter(Boolean).join(" · ");
const titleOf = (item) => ({ repeat: `↻ ${item.name}, up to ${plural(item.rounds, "round")}`, parallel: "at the same time" })[item.kind] ?? item.name;

const Plan = ({ items }) => html`<ul class="plan">${items.map((item, index) => html`
  <li key=${index}><span class=${item.items?.length ? "name" : ""}>${bdi(`${item.emoji ? `${item.emoji} ` : ""}${titleOf(item)}`)}</span> <span class="mute">${bdi(about(item))}</span>${item.items?.length ? html`<${Plan} items=${item.items} />` : null}</li>`)}</ul>`;

// The same as cards and frames.
const drawn = (items, above = "") => ({ type: "series", items: items.map((item, index) => {
  const key = `${above}/${item.id ?? item.key ?? index}`;
  if (!item.items?.length) return { type: "card", key, row: { ...item, id: key, status: "", who: item.group }, ran: 0, of: 1 };
  if (item.kind === "parallel") return { type: "stack", items: drawn(item.items, key).items };
  const inside = drawn(item.items, key);
  if (item.kind === "phase" && inside.items.length === 1) return inside.items[0];
  return { type: "frame", key, title: titleOf(item), loops: item.kind === "repeat" || item.loopable === true, inside: item.parallel ? { ...inside, type: "stack", key } : bare(item, inside) };
}) });

// The only phase of a repeat needs no frame of its own.
const bare = (item, inside) => (item.kind === "repeat" && inside.items.length === 1 && inside.items[0].type === "frame" && item.items[0].kind === "phase" ? inside.items[0].inside : inside);

const Runs = ({ rows, now }) => rows.length ? html`<ul>${rows.map((row) => html`
  <li key=${row.id} class="entry definition"><span class=${`sign ${row.status}`} aria-hidden="true">${SIGNS[row.status]}</span><span class="title"><a class="name" href=${addressOf(row.id)}>${bdi(row.id.slice(4))}</a> <span class="about">${bdi(row.about)}</span></span>
    <span class="what"><span class=${`word ${row.status}`}>${WORDS[row.status] ?? row.status}</span></span><span class="figure">${moment(row.ended ?? row.started, now)}</span></li>`)}</ul>` : html`<p class="empty">No run on home is of this definition.</p>`;

export class Definition extends Component {
  componentDidMount() {
    this.read();
  }

  componentDidUpdate() {
    if (this.entry()?.v !== this.version) this.read();
  }

  entry() {
    const { kind, id, catalog } = this.props;
    return catalog?.rows("entries").find((entry) => entry.kind === kind && nameOf(entry) === id);
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
    if ((view === "Plan" || view === "Graph") && !found.plan?.length) return html`<p class="empty">There is no plan while it has errors.</p>`;
    if (view === "Plan") return html`<div class="whole-plan"><${Plan} items=${found.plan} /></div>`;
    if (view === "Graph") return html`<${Drawing} item=${drawn(found.plan)} took=${() => null} onOpen=${this.props.kind === "flow" ? (row) => ask({ view: null, line: row.line }, "push") : undefined} label=${`Graph of ${entry?.name ?? this.props.id}`} />`;
    if (view === "Runs") return html`<${Runs} rows=${this.props.rows.filter((row) => row.name === entry?.name || row.name === entry?.key)} now=${this.props.now} />`;
    return found.files.map((file) => html`<section key=${file.file}><h2>${bdi(file.file)}</h2>
      ${file.text == null ? html`<p class="empty">This file cannot be read.</p>` : html`<${Source} text=${file.text} problems=${file.problems} at=${Number(this.props.query.get("line"))} />`}${file.is_cut ? html`<p class="mute">The rest is not shown.</p>` : null}</section>`);
  }

  render({ kind, id, query, readOnly }, { found, error }) {
    const entry = this.entry();
    const view = VIEWS.find((one) => one.toLowerCase() === query.get("view")) ?? "Text";
    const words = entry ? problemWords(entry) : "";
    return html`
      <p class="crumbs"><a href="/catalog" aria-keyshortcuts="b">‹ catalog</a></p>
      <div class="titlebar"><h1 tabindex="-1">${bdi(entry?.name ?? id)} <span class="about">${kind}${entry?.file ? html` · ${bdi(entry.file)}` : null}</span></h1>
        ${kind === "plugin" ? null : entry && !canLaunch(entry) ? html`<button disabled>Launch: not while it has errors</button>` : html`<a class="button" href=${launchAddress(kind, id)} aria-disabled=${readOnly ? "true" : undefined}>Launch</a>`}</div>
      ${entry?.description ? html`<p class="text">${bdi(entry.description)}</p>` : null}
      ${words ? html`<p class="notice">${bdi(words)}</p>` : null}
      <nav class="tabs" aria-label="Views">${VIEWS.map((one, index) => html`<button key=${one} aria-keyshortcuts=${String(index + 1)} aria-current=${one === view ? "page" : undefined} onClick=${() => ask({ view: one.toLowerCase(), line: null }, "push")}>${one}</button>`)}</nav>
      ${found ? this.body(view, found, entry) : error ? html`<${Problem} error=${error} />` : html`<p class="empty">Reading …</p>`}
    `;
  }
}
