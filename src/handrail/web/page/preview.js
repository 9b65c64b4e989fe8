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

export const Preview = ({ shown }) => html`<pre class="text" tabindex="0"><bdi>${shown.text ?? ""}</bdi></pre>`;
