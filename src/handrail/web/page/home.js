// Everything in the project, in four groups: what needs a person comes first.
import { Buttons } from "./buttons.js";
import { bdi, Component, html } from "./dom.js";
import { Problem } from "./dialog.js";
import { get, post } from "./doing.js";
import { addressOf, ask, needAddress } from "./routes.js";
import { age, cost, duration, moment, plural, SIGNS, time, WORDS } from "./words.js";

const QUIET = 60;
const OUTCOMES = ["completed", "failed", "stopped", "cancelled"];
const isOver = (row) => row.group === "recent";

const placeOf = (row) => {
  const place = Array.isArray(row.place) ? row.place.join(" › ") : row.place ?? "";
  return [row.round ? `↻${row.round[0]}/${row.round[1]}` : "", [place, row.doing].filter(Boolean).join(" › ")].filter(Boolean).join(" ");
};

// Of a nested step only the name, so that the reason can be read.
const nearOf = (path) => (path ? path.split("/").slice(path.split("/").length > 2 ? -1 : 0).join(" › ") : "");
const whyOf = (row) => (typeof row.why === "string" ? row.why : [nearOf(row.why?.path), row.why?.message].filter(Boolean).join(": "));

const KINDS = { form: "form", approval: "approval", rerun: "did it finish?", breach: "changed files", trust: "not trusted" };

// Its work or its answer waits for a process.
const isLeft = (row) => row.kind === "run" && (row.status === "interrupted" || row.status === "answered");

// The sentence of a row, and what stands beside it.
const tell = (row, now) => {
  if (row.need) {
    const more = row.need.fields && row.need.kind !== "approval" ? ` · ${plural(row.need.fields, "field")}` : "";
    return [row.need.title, [KINDS[row.need.kind] ?? row.need.kind, row.who].filter(Boolean).join(" · ") + more];
  }
  if (isLeft(row)) return [`${row.status}${placeOf(row) ? ` at ${placeOf(row)}` : ""}`, "no process"];
  if (row.delay) return [row.delay.reason ?? "delayed", row.delay.until ? `in ${duration(row.delay.until - now)}` : ""];
  if (row.group === "needs") return [whyOf(row) || placeOf(row), row.seen === false ? "new" : ""];
  if (isOver(row)) return [whyOf(row), row.seconds != null || row.ended ? `${row.atLeast ? "≥ " : ""}${duration(row.seconds ?? row.ended - row.started)}` : ""];
  const quiet = row.last != null && now - row.last > QUIET ? `quiet ${age(row.last, now)}` : "";
  return [placeOf(row), [quiet, row.kind === "session" ? row.who : ""].filter(Boolean).join(" · ")];
};

const Progress = ({ row }) =>
  row.total ? html`<span class="progress"><progress aria-label="steps" max=${row.total} value=${row.done}></progress> ${row.done}/${row.total}</span>` : null;

const Action = ({ row }) => {
  if (row.need) return html`<a class="button" href=${needAddress(row.id, row.need.id)} aria-keyshortcuts="a">${row.need.kind === "approval" ? "Look" : "Answer"}</a>`;
  if (isLeft(row)) return html`<${Buttons} run=${row.id.slice(4)} name=${row.name} about=${row.about} actions=${row.modes?.length ? row.modes : ["resume"]} />`;
  return html`<a class="button" href=${addressOf(row.id)}>Look</a>`;
};

class Entry extends Component {
  shouldComponentUpdate({ row, now }) {
    const ticks = !isOver(row) && Math.floor(now) !== Math.floor(this.props.now);
    return ticks || row.v !== this.props.row.v || row.group !== this.props.row.group;
  }

  render({ row, now }) {
    const [what, beside] = tell(row, now);
    const when = isOver(row) ? moment(row.ended ?? row.started, now) : age(row.need?.since ?? row.ended ?? row.started, now);
    return html`
      <li class=${`entry ${row.status}`}>
        <span class=${`sign ${row.status}`} aria-hidden="true">${row.group === "needs" && row.need ? "?" : SIGNS[row.status] ?? "·"}</span>
        <span class="title"><a class="name" href=${addressOf(row.id)}>${bdi(row.name)}</a> <span class="about">${bdi(row.about)}</span></span>
        <span class="what">${bdi(what)}</span>
        <span class="beside">${row.total && !isOver(row) && row.group !== "needs" ? html`<${Progress} row=${row} />` : null} ${bdi(beside)}</span>
        <span class=${`word ${row.status}`}>${WORDS[row.status] ?? row.status}</span>
        <span class="figure when" title=${time(row.need?.since ?? row.ended ?? row.started)}>${when}</span>
        ${row.group === "needs" ? html`<span class="action"><${Action} row=${row} /></span>` : html`<span class="figure">${cost(row.usage)}</span>`}
      </li>
    `;
  }
}

const Group = ({ id, title, rows, empty, now, children }) =>
  rows.length || empty ? html`
    <section class=${`group ${id}`} aria-labelledby=${`group-${id}`}>
      <h2 id=${`group-${id}`}>${title} <span class="figures">${rows.length || ""}</span></h2>
      ${children}
      ${rows.length ? html`<ul>${rows.map((row) => html`<${Entry} key=${row.id} row=${row} now=${now} />`)}</ul>` : html`<p class="empty">${empty}</p>`}
    </section>
  ` : null;

const Filters = ({ names, query }) => html`
  <p class="filters">
    <select aria-label="Name" value=${query.get("name") ?? ""} onChange=${(e) => ask({ name: e.target.value })}>
      <option value="">every name</option>${names.map((name) => html`<option key=${name}>${name}</option>`)}
    </select>
    <select aria-label="Outcome" value=${query.get("outcome") ?? ""} onChange=${(e) => ask({ outcome: e.target.value })}>
      <option value="">every outcome</option>${OUTCOMES.map((one) => html`<option key=${one} value=${one}>${WORDS[one]}</option>`)}
    </select>
  </p>
`;

const holds = (row, text) => !text || `${row.name} ${row.about} ${row.need?.title ?? ""} ${placeOf(row)}`.toLowerCase().includes(text.toLowerCase());

// What ended before the rows that the topic has, fetched in pages.
class Older extends Component {
  async more() {
    const { last } = this.props;
    const rows = this.state.rows ?? [];
    try {
      const found = await get(`/api/older?after=${encodeURIComponent(rows.at(-1)?.id ?? last)}`);
      this.setState({ rows: [...rows, ...found], error: null });
    } catch (error) {
      this.setState({ error });
    }
  }

  render({ count, now }, { rows = [], error }) {
    return html`
      ${rows.length ? html`<ul>${rows.map((row) => html`<${Entry} key=${row.id} row=${row} now=${now} />`)}</ul>` : null}
      <${Problem} error=${error} />
      ${count > rows.length ? html`<p class="buttons"><button onClick=${() => this.more()}>${count - rows.length} older</button></p>` : null}
    `;
  }
}

export const Home = ({ home, rows, now, query }) => {
  if (!home.seq) return html`<h1>Home</h1><p class="empty">Reading the project …</p>`;
  const find = query.get("find") ?? "";
  const of = (group) => rows.filter((row) => row.group === group && holds(row, find));
  const recent = of("recent");
  const names = [...new Set(recent.map((row) => row.name))].sort();
  const [name, outcome] = [query.get("name"), query.get("outcome")];
  const chosen = recent.filter((row) => (!name || row.name === name) && (!outcome || row.status === outcome || (outcome === "completed" && row.status === "done")));
  const failures = rows.filter((row) => row.group === "needs" && !row.need && row.seen === false);
  return html`
    <div class="titlebar">
      <h1 tabindex="-1">Home</h1>
      <input type="search" aria-keyshortcuts="/" aria-label="Find a run or session" placeholder="find a run or session" value=${find} onInput=${(e) => ask({ find: e.target.value })} />
    </div>
    <${Group} id="needs" title="Needs you" rows=${of("needs")} empty="nothing" now=${now}>
      ${failures.length > 1 ? html`<p class="filters"><button onClick=${() => post("/api/seen", { ids: failures.map((row) => row.id) })}>Mark ${failures.length} failures as seen</button></p>` : null}
    <//>
    <${Group} id="running" title="Running" rows=${of("running")} empty="nothing" now=${now} />
    <${Group} id="delayed" title="Delayed" rows=${of("delayed")} now=${now} />
    <${Group} id="recent" title="Recent" rows=${chosen} now=${now} empty=${recent.length || find ? "nothing fits" : html`No runs yet. <a href="/launch">Launch one</a>, or look at the <a href="/catalog">catalog</a>. <code>handrail init</code> creates a small example in <code>.handrail/</code>.`}>
      ${recent.length > 1 ? html`<${Filters} names=${names} query=${query} />` : null}
    <//>
    ${home.head?.older && !find && !name && !outcome ? html`<${Older} count=${home.head.older} last=${recent.at(-1)?.id ?? ""} now=${now} />` : null}
  `;
};
