// The last lines of what agents and commands wrote. It stays at the end while it is followed.
import { Component, html } from "./dom.js";
import { toQuery } from "./address.js";
import { plural, time } from "./words.js";

const SHOWN = 500;
const PRINTED = new Set(["out", "text"]); // a blank line of these is a blank line, and of the others a word with its step

export class Tail extends Component {
  constructor(props) {
    super(props);
    this.state = { isFollowed: true, isSpoken: false };
  }

  componentDidMount() {
    this.end();
  }

  componentDidUpdate() {
    this.end();
  }

  end() {
    if (this.state.isFollowed && this.element) this.element.scrollTop = this.element.scrollHeight;
  }

  render({ tail, node, made, isShort }, { isFollowed, isSpoken }) {
    const lines = (tail?.rows ?? []).filter((row) => !node || row.node === node || row.node?.startsWith(`${node}/`));
    const shown = lines.slice(isShort ? -20 : -SHOWN);
    return html`
      ${isShort ? null : html`
        <p class="switches">
          <label><input type="checkbox" aria-keyshortcuts="f" checked=${isFollowed} onChange=${(event) => this.setState({ isFollowed: event.target.checked })} /> follow</label>
          <label><input type="checkbox" checked=${isSpoken} onChange=${(event) => this.setState({ isSpoken: event.target.checked })} /> read new lines aloud</label>
          ${node ? html`<span class="mute">only <bdi>${made.outline.words(node)}</bdi></span> <a ...${toQuery({ step: null, try: null, part: null })}>all steps</a>` : null}
          ${tail?.lost ? html`<span class="mute">… ${plural(tail.lost, "line")} before ${tail.lost === 1 ? "was" : "were"} left out</span>` : null}
        </p>
      `}
      <div role="log" aria-label="Output" aria-live=${isSpoken ? "polite" : "off"} tabindex="0" class=${`tail ${isShort ? "short" : ""}`} ref=${(element) => (this.element = element)}>
        ${shown.map((row) => html`
          <div key=${row.n} class=${`heard is-${row.kind}`}>
            <time>${time(row.t)}</time> <span class="kind">${row.kind}</span>
            <span class="said">${node || (!row.text && PRINTED.has(row.kind)) ? null : html`<span class="at"><bdi>${made.outline.words(row.node)}</bdi></span> `}<bdi class="text">${row.text}</bdi></span>
          </div>
        `)}
        ${shown.length ? null : html`<p class="empty">No output ${tail?.seq ? "of this step" : "was recorded"}.</p>`}
      </div>
    `;
  }
}
