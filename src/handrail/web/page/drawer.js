// One step, next to the tree: what it does now, what it was told, what it said, what was checked and what it made.
import { inQuery, toQuery } from "./address.js";
import { Checks } from "./checked.js";
import { Component, html } from "./dom.js";
import { Files } from "./files.js";
import { countsOf, statusWord, tookWords } from "./outline.js";
import { JsonTree } from "./preview.js";
import { Fetched } from "./reading.js";
import { needAddress } from "./routes.js";
import { Tail } from "./tail.js";
import { cost, duration, SIGNS } from "./words.js";

const PARTS = [["now", "Now"], ["prompt", "Prompt"], ["output", "Output"], ["checks", "Checks"], ["artifacts", "Artifacts"]];
const enc = encodeURIComponent;
const number = (value) => (value == null ? "–" : value.toLocaleString("en-US"));

const Usage = ({ usage }) => html`<div><dt>usage</dt><dd>${number(usage?.inputTokens)} in · ${number(usage?.outputTokens)} out · ${cost(usage)}</dd></div>`;

const Facts = ({ id, row, need, made, tail, checks, artifacts }) => html`
  ${need ? html`<p class="asks"><bdi>${need.title}</bdi> <a class="button" href=${needAddress(`run:${id}`, need.id)}>Answer</a></p>` : null}
  ${row.why?.message ? html`<p class="why"><bdi>${row.why.message}</bdi> ${row.why.code ? html`<code>${row.why.code}</code>` : null}</p>` : null}
  <dl class="pairs">
    ${row.doing ? html`<div><dt>doing</dt><dd><bdi>${row.doing}</bdi></dd></div>` : null}
    ${row.note ? html`<div><dt>notice</dt><dd><bdi>${row.note}</bdi></dd></div>` : null}
    <div><dt>what</dt><dd><bdi>${row.flow ? `flow ${row.flow}` : row.node ?? "–"}</bdi></dd></div>
    ${countsOf(row.counts).length ? html`<div><dt>counts</dt><dd>${countsOf(row.counts).join(" · ")}</dd></div>` : null}
    ${row.who ? html`<${Usage} usage=${row.usage} />` : null}
  </dl>
  ${checks.length ? html`<h3>Checks</h3><${Checks} checks=${checks} />` : null}
  ${artifacts.length ? html`<h3>Files</h3><${Files} artifacts=${artifacts} outline=${made.outline} />` : null}
  <h3>Last lines</h3>
  <${Tail} tail=${tail} node=${row.id} made=${made} isShort=${true} />
`;

const Text = ({ text, empty }) => (text ? html`<pre class="text" tabindex="0"><bdi>${text}</bdi></pre>` : html`<p class="empty">${empty}</p>`);

const Prompt = ({ data }) => html`
  <${Text} text=${data.prompt} empty="No prompt was recorded." />
  ${data.params && Object.keys(data.params).length ? html`<h3>Params</h3><${JsonTree} value=${data.params} />` : null}
`;

// What a node returned: its texts as they are, everything else as a tree.
const Output = ({ data }) => {
  const { output } = data;
  if (output == null || typeof output !== "object" || Array.isArray(output)) {
    return html`<${Text} text=${output == null ? null : typeof output === "string" ? output : JSON.stringify(output)} empty="It returned no value. What it printed is in Now." />${data.isCut ? html`<p class="mute">The rest is left out.</p>` : null}`;
  }
  const texts = Object.entries(output).filter(([, value]) => typeof value === "string" && value.length > 40);
  const rest = Object.fromEntries(Object.entries(output).filter(([name]) => !texts.some(([one]) => one === name)));
  return html`
    ${texts.map(([name, value]) => html`<h3 key=${name}><bdi>${name}</bdi></h3><${Text} text=${value} />`)}
    ${Object.keys(rest).length ? html`<${JsonTree} value=${rest} />` : null}
  `;
};

// An earlier try: how it ended.
const Earlier = ({ data }) => html`
  <p>Try ${data.try} ${data.end ?? "has not ended"}${data.started && data.ended ? ` after ${duration(data.ended - data.started)}` : ""}.</p>
  ${data.why?.message ? html`<p class="why"><bdi>${data.why.message}</bdi> ${data.why.code ? html`<code><bdi>${data.why.code}</bdi></code>` : null}</p>` : null}
  ${data.who ? html`<dl class="pairs"><div><dt>who</dt><dd><bdi>${data.who}</bdi></dd></div><${Usage} usage=${data.usage} /></dl>` : null}
`;

const FETCHED = { prompt: Prompt, output: Output, now: Earlier, checks: ({ data }) => html`<${Checks} checks=${data.checks} />` };

// A switch between the tries of a step.
const Tries = ({ row, at }) =>
  row.try > 1
    ? html`<nav class="modes" aria-label="Tries">${Array.from({ length: row.try }, (_, index) => index + 1).map((one) => html`<a key=${one} ...${toQuery({ try: one === row.try ? null : one })} aria-current=${one === at ? "true" : undefined}>try ${one}</a>`)}</nav>`
    : null;

export class Drawer extends Component {
  componentDidMount() {
    if (matchMedia("(max-width: 899px)").matches) this.heading?.focus();
  }

  part(part, row, at) {
    const { id, path, made, received } = this.props;
    const checks = made.checks.filter((check) => check.node === path);
    const artifacts = made.artifacts.filter((file) => file.step === path);
    const isLast = at === (row.try || 1);
    if (part === "artifacts") return html`<${Files} artifacts=${artifacts} outline=${made.outline} />`;
    if (part === "checks" && isLast) return html`<${Checks} checks=${checks} />`;
    if (part === "now" && isLast) {
      const need = made.needs.find((one) => one.path === path && !one.answered);
      return html`<${Facts} id=${id} row=${row} need=${need} made=${made} tail=${received.tail} checks=${checks} artifacts=${artifacts} />`;
    }
    const address = `/api/runs/${enc(id)}/steps/${path.split("/").map(enc).join("/")}${row.try ? `?try=${at}` : ""}`;
    return html`<${Fetched} path=${address} version=${row.v}>${(data) => html`<${FETCHED[part]} data=${data} />`}<//>`;
  }

  render({ path, made, end, onClose }) {
    const row = made.outline.byId.get(path);
    const part = PARTS.some(([name]) => name === inQuery("part")) ? inQuery("part") : "now";
    const at = Number(inQuery("try")) || row?.try || 1;
    return html`
      <aside class="drawer" aria-labelledby="drawer-title">
        <header>
          <h2 id="drawer-title" tabindex="-1" ref=${(element) => (this.heading = element)}><bdi>${made.outline.words(path)}</bdi></h2>
          <button type="button" class="close" aria-label="Close this step" onClick=${onClose}>×</button>
        </header>
        ${row
          ? html`
              <p class="facts">
                <span><span class=${`sign ${row.status}`} aria-hidden="true">${SIGNS[row.status] ?? "·"}</span> <strong class=${`word ${row.status}`}>${statusWord(row)}</strong></span>
                <span>${tookWords(row, made.spans.worked(row, end), made.spans.waits(row, end))}</span>
                ${row.who ? html`<span><bdi>${row.who}</bdi></span>` : null}
                ${row.tries > 1 || row.try > 1 ? html`<span>try ${row.try} of ${row.tries}</span>` : null}
              </p>
              <${Tries} row=${row} at=${at} />
              <nav class="tabs" aria-label="Parts of this step">
                ${PARTS.map(([name, words]) => html`<a key=${name} ...${toQuery({ part: name === "now" ? null : name })} aria-current=${name === part ? "page" : undefined}>${words}</a>`)}
              </nav>
              <div class="part">${this.part(part, row, at)}</div>
            `
          : html`<p class="empty">This run has no such step now.</p>`}
      </aside>
    `;
  }
}
