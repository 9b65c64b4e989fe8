// The content of a file as text. The server has parsed it; here it becomes elements, and never markup.
import { Component, html } from "./dom.js";

const DEPTH = 2;

class Json extends Component {
  constructor(props) {
    super(props);
    this.state = { isOpen: props.depth < DEPTH };
  }

  render({ name, value, depth }, { isOpen }) {
    const label = name == null ? null : html`<bdi class="key">${name}</bdi>: `;
    if (value === null || typeof value !== "object") {
      return html`<li>${label}<bdi class=${`value ${typeof value}`}>${JSON.stringify(value)}</bdi></li>`;
    }
    const entries = Array.isArray(value) ? value.map((one, index) => [index, one]) : Object.entries(value);
    const shape = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
    if (!entries.length) return html`<li>${label}<span class="value">${shape.replace("0", "")}</span></li>`;
    return html`
      <li>
        <button type="button" class="twist" aria-expanded=${String(isOpen)} onClick=${() => this.setState({ isOpen: !isOpen })}>${isOpen ? "▾" : "▸"} ${label}<span class="mute">${shape}</span></button>
        ${isOpen ? html`<ul>${entries.map(([key, one]) => html`<${Json} key=${key} name=${key} value=${one} depth=${depth + 1} />`)}</ul>` : null}
      </li>
    `;
  }
}

export const JsonTree = ({ value }) => html`<ul class="json"><${Json} value=${value} depth=${0} /></ul>`;

const TAGS = new Set(["p", "ul", "ol", "li", "blockquote", "em", "strong", "s", "hr", "br", "table", "thead", "tbody", "tr", "th", "td", "code"]);
const HEADS = { h1: "h2", h2: "h3", h3: "h4", h4: "h5", h5: "h6", h6: "h6" }; // the page has its own first heading

// Only these tags are built; whatever else a tree has is shown as its text.
const Markdown = ({ tree }) =>
  tree.map((node) => {
    if (typeof node === "string") return html`<bdi>${node}</bdi>`;
    const inside = () => html`<${Markdown} tree=${node.children ?? []} />`;
    if (node.tag === "a") {
      return html`<a href=${node.href} rel="noopener noreferrer" target="_blank">${inside()}</a> <span class="mute">(<bdi>${node.host}</bdi>)</span>`;
    }
    if (node.tag === "pre") return html`<pre tabindex="0"><code>${inside()}</code></pre>`;
    if (node.tag === "hr" || node.tag === "br") return html`<${node.tag} />`;
    const tag = HEADS[node.tag] ?? (TAGS.has(node.tag) ? node.tag : null);
    return tag ? html`<${tag}>${inside()}<//>` : inside();
  });

const SIGNS = { "+": "added", "-": "removed", "@": "place" };
const Diff = ({ lines, isCut }) => html`
  <div class="diff" tabindex="0" role="region" aria-label="What changed">
    ${lines.map((line, index) => html`<div key=${index} class=${SIGNS[line.sign] ?? ""}>${line.sign === "-" ? "−" : line.sign}<bdi>${line.text}</bdi></div>`)}
  </div>
  ${isCut ? html`<p class="mute">The rest is left out. Download the file to see all of it.</p>` : null}
  ${lines.length ? null : html`<p class="empty">Nothing changed since the previous version.</p>`}
`;

export const Preview = ({ shown }) => {
  if (shown.lines !== undefined) {
    if (shown.lines) return html`<${Diff} lines=${shown.lines} isCut=${shown.isCut} />`;
    return html`<p class="empty">${shown.previous ? "The difference cannot be shown: the file is too large or not a text." : "This is the first version."}</p>`;
  }
  if (shown.kind === "markdown") return html`<div class="markdown"><${Markdown} tree=${shown.tree} /></div>`;
  if (shown.kind === "json") return html`<${JsonTree} value=${shown.value} />`;
  if (shown.kind === "text") return html`<pre class="text" tabindex="0"><bdi>${shown.text}</bdi></pre>`;
  return html`<p class="empty">There is no preview: the file is too large or not a text. Download it to see what it contains.</p>`;
};
