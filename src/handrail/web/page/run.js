// One run: its head, and the tree of its phases and steps.
import { Buttons } from "./buttons.js";
import { Component, html } from "./dom.js";
import { Question } from "./form.js";
import { cost, duration, SIGNS, time, WORDS } from "./words.js";

const childrenOf = (rows) => {
  const below = new Map();
  for (const row of rows.sort((a, b) => a.order - b.order)) {
    if (!below.has(row.parent)) below.set(row.parent, []);
    below.get(row.parent).push(row);
  }
  return below;
};

const spent = (row, now) => {
  if (row.started == null) return "";
  if (row.ended != null) return duration(row.ended - row.started);
  return duration(now - row.started);
};

const detail = (row) => {
  if (row.kind === "repeat") return `↻ ${row.begun} of ${row.rounds}`;
  if (row.why && row.status !== "done") return row.why.message;
  if (row.doing && row.status !== "done") return row.doing;
  const counts = Object.entries(row.counts ?? {}).map(([name, count]) => `${count} ${name}`);
  return [row.flow ? `flow ${row.flow}` : row.node, row.who, ...counts].filter(Boolean).join(" · ");
};

const isOpenAtFirst = (row) => row.kind !== "round" || row.status !== "done";

class Tree extends Component {
  constructor(props) {
    super(props);
    this.state = { folded: {}, at: null };
  }

  isFolded(row) {
    return this.state.folded[row.id] ?? !isOpenAtFirst(row);
  }

  fold(row, isFolded) {
    this.setState({ folded: { ...this.state.folded, [row.id]: isFolded } });
  }

  key(event, list, index, row) {
    const go = (place) => {
      event.preventDefault();
      const next = list[Math.max(0, Math.min(list.length - 1, place))];
      this.setState({ at: next.row.id }, () => document.getElementById(`node ${next.row.id}`)?.focus());
    };
    const keys = {
      ArrowDown: () => go(index + 1),
      ArrowUp: () => go(index - 1),
      Home: () => go(0),
      End: () => go(list.length - 1),
      ArrowLeft: () => this.fold(row, true),
      ArrowRight: () => this.fold(row, false),
    };
    keys[event.key]?.();
  }

  render({ rows, now }) {
    const below = childrenOf(rows);
    const list = [];
    const walk = (parent, level) => {
      for (const row of below.get(parent) ?? []) {
        const hasMore = below.has(row.id);
        list.push({ row, level, hasMore });
        if (hasMore && !this.isFolded(row)) walk(row.id, level + 1);
      }
    };
    walk("", 1);
    const at = list.some(({ row }) => row.id === this.state.at) ? this.state.at : list[0]?.row.id;
    return html`
      <div role="treegrid" aria-label="Phases and steps" class="tree">
        ${list.map(({ row, level, hasMore }, index) => html`
          <div
            key=${row.id}
            id=${`node ${row.id}`}
            role="row"
            aria-level=${level}
            aria-expanded=${hasMore ? String(!this.isFolded(row)) : undefined}
            tabindex=${row.id === at ? 0 : -1}
            class=${`node level-${Math.min(level, 8)} ${row.status}`}
            onKeyDown=${(event) => this.key(event, list, index, row)}
            onClick=${() => (hasMore ? this.fold(row, !this.isFolded(row)) : null)}
          >
            <span role="gridcell" class="fold" aria-hidden="true">${hasMore ? (this.isFolded(row) ? "▸" : "▾") : ""}</span>
            <span role="gridcell" class=${`sign ${row.status}`} title=${WORDS[row.status]}>${SIGNS[row.status] ?? "·"}</span>
            <span role="gridcell" class="name"><bdi>${row.name}</bdi></span>
            <span role="gridcell" class="what"><bdi>${detail(row)}</bdi></span>
            <span role="gridcell" class=${`word ${row.status}`}>${row.status === "done" ? "" : WORDS[row.status] ?? row.status}</span>
            <span role="gridcell" class="figure">${row.try > 1 ? `try ${row.try}` : ""}</span>
            <span role="gridcell" class="figure">${spent(row, now)}</span>
            <span role="gridcell" class="figure">${cost(row.usage)}</span>
          </div>
        `)}
      </div>
    `;
  }
}

export const Run = ({ id, received, live, now }) => {
  const head = received.head;
  if (!head) return html`<p class="empty">Reading the run …</p>`;
  const end = head.ended ?? now;
  const needs = received.rows("needs").filter((row) => row.answered === null);
  const artifacts = received.rows("artifacts");
  const interrupted = head.status === "running" && live?.driver === null ? ["resume"] : [];
  return html`
    <header class="title">
      <h1 tabindex="-1"><bdi>${head.name}</bdi> <span class="about"><bdi>${head.about}</bdi></span></h1>
      <p class="facts">
        <span class=${`sign ${head.status}`} aria-hidden="true">${SIGNS[head.status]}</span>
        <strong class=${`word ${head.status}`}>${WORDS[head.status] ?? head.status}</strong>
        <span>${head.done} of ${head.total} steps</span>
        <span>${head.started == null ? "not started" : duration(end - head.started)}</span>
        <span>${cost(head.usage)}</span>
        ${head.started != null ? html`<span>since ${time(head.started)}</span>` : null}
      </p>
      ${head.why ? html`<p class="why"><bdi>${[head.why.path, head.why.message].filter(Boolean).join(": ")}</bdi></p>` : null}
      ${head.summary ? html`<p class="summary"><bdi>${head.summary}</bdi></p>` : null}
    </header>
    <${Buttons} run=${id} actions=${head.status === "running" || head.status === "waiting" ? ["stop", ...interrupted] : head.modes} />
    ${needs.map((need) => html`<${Question} key=${need.id} need=${need} run=${id} />`)}
    <${Tree} rows=${received.rows("nodes")} now=${now} />
    ${artifacts.length
      ? html`
          <section aria-labelledby="artifacts">
            <h2 id="artifacts">Artifacts</h2>
            <ul class="files">${artifacts.map((row) => html`<li key=${row.id}><bdi>${row.path}</bdi></li>`)}</ul>
          </section>
        `
      : null}
  `;
};
