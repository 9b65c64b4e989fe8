// The views of a run, by their names in the address.
import { changeQuery, inQuery, toQuery } from "./address.js";
import { Graph } from "./cards.js";
import { Checks } from "./checked.js";
import { Component, html } from "./dom.js";
import { Files } from "./files.js";
import { Log } from "./log.js";
import { Preview } from "./preview.js";
import { Fetched } from "./reading.js";
import { newest } from "./runhead.js";
import { graphOf } from "./shapes.js";
import { Tail } from "./tail.js";
import { Tree } from "./tree.js";
import { cost, plural, WORDS } from "./words.js";

const Switch = ({ name, value, children }) => html`
  <label><input type="checkbox" checked=${inQuery(name) === value} onChange=${(event) => changeQuery({ [name]: event.target.checked ? value : null }, true)} /> ${children}</label>
`;

const Progress = ({ made, touched, here, end, scale, onFold, onOpen }) => {
  const lines = made.outline.lines(touched, inQuery("hide") === "done");
  return html`
    <p class="switches">
      <${Switch} name="hide" value="done">hide what is done<//>
      ${scale?.gaps.length || inQuery("idle") ? html`<${Switch} name="idle" value="all">show idle time<//>` : null}
    </p>
    ${lines.length
      ? html`<${Tree} lines=${lines} here=${here} spans=${made.spans} scale=${scale} end=${end} onFold=${onFold} onOpen=${onOpen} />`
      : html`<p class="empty">${made.outline.rows.length ? "Everything is done." : "Nothing has begun yet."}</p>`}
  `;
};

const MODES = [["folded", "Folded"], ["ran", "As it ran"]];

class GraphView extends Component {
  constructor(props) {
    super(props);
    this.state = { touched: {} };
  }

  fold(key, isFolded, row) {
    this.setState({ touched: { ...this.state.touched, [key]: isFolded } });
    if (row && !isFolded) this.props.onFold(row, false);
  }

  render({ made, here, end, onOpen }, { touched }) {
    const mode = inQuery("mode") === "ran" ? "ran" : "folded";
    return html`
      <${Graph}
        item=${graphOf(made.outline.rows, { mode, touched })} label="Graph of this run" here=${here}
        took=${(row) => made.spans.worked(row, end)} onOpen=${onOpen}
        onFold=${(key, isFolded, row) => this.fold(key, isFolded, row)}
      >
        <nav class="modes" aria-label="How the graph is drawn">
          ${MODES.map(([name, words]) => html`<a key=${name} ...${toQuery({ mode: name === "folded" ? null : name })} aria-current=${name === mode ? "true" : undefined}>${words}</a>`)}
        </nav>
      <//>
    `;
  }
}

const Summary = ({ id, made }) => {
  const { head, artifacts, checks, outline } = made;
  const failed = checks.filter((check) => check.held === false);
  return html`
    <section class="summary-view">
      <p>${WORDS[made.status] ?? made.status}${head.outcome ? html`: <bdi>${head.outcome}</bdi>` : null}. ${head.done ?? "–"} of ${plural(head.total ?? 0, "step")}, cost ${cost(head.usage)}.</p>
      ${head.summary ? html`<${Fetched} path=${`/api/runs/${encodeURIComponent(id)}/summary`} version=${head.summary}>${(data) => html`<${Preview} shown=${data} />`}<//>` : html`<p class="empty">No summary was written.</p>`}
      ${failed.length ? html`<h2>Checks that do not hold</h2><${Checks} checks=${failed} outline=${outline} />` : null}
      ${artifacts.length ? html`<h2>Files</h2><${Files} artifacts=${newest(artifacts)} outline=${outline} />` : null}
    </section>
  `;
};

const Changes = ({ id, received }) => html`
  <${Fetched} path=${`/api/runs/${encodeURIComponent(id)}/changes`} version=${received.head.status}>
    ${(data) => (data.files ? html`<ul class="files">${data.files.map((file) => html`<li key=${file.path}><bdi>${file.status ?? ""} ${file.path}</bdi></li>`)}</ul>` : html`<p class="empty">What this run changed in the project was not recorded. Artifacts has the files that its steps promised.</p>`)}
  <//>
`;

export const VIEWS = {
  progress: Progress,
  graph: GraphView,
  tail: ({ received, made, here }) => html`<${Tail} tail=${received.tail} made=${made} node=${inQuery("step") ? here : null} />`,
  summary: Summary,
  artifacts: ({ made }) => html`<${Files} artifacts=${made.artifacts} outline=${made.outline} />`,
  checks: ({ made }) => html`<${Checks} checks=${made.checks} outline=${made.outline} />`,
  changes: Changes,
  log: ({ id, made, received }) => html`<${Log} id=${id} outline=${made.outline} version=${received.seq} />`,
};
