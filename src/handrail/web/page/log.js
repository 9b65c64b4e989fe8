// The journal of a run, newest first, searched on the server in pages.
import { changeQuery, inQuery, toQuery } from "./address.js";
import { Component, html } from "./dom.js";
import { get } from "./doing.js";
import { plural, time } from "./words.js";

const KINDS = ["steps", "agent", "people", "checks", "facts"];
const enc = encodeURIComponent;
const chosen = () => (inQuery("kind") ?? "steps,agent,people,checks").split(",").filter((kind) => KINDS.includes(kind));

export class Log extends Component {
  constructor(props) {
    super(props);
    this.state = { rows: [], before: null, error: null, isReading: false };
  }

  componentDidMount() {
    this.read();
  }

  componentDidUpdate(before) {
    const wanted = `${inQuery("q") ?? ""} ${chosen()} ${inQuery("under") ?? ""}`;
    if (wanted !== this.wanted) this.read();
    else if (before.version !== this.props.version && !this.timer) {
      this.timer = setTimeout(() => { this.timer = null; if (!this.isGone && !this.isPaged) this.read(); }, 1000);
    }
  }

  componentWillUnmount() {
    this.isGone = true;
    clearTimeout(this.timer);
  }

  async read(before = null) {
    this.wanted = `${inQuery("q") ?? ""} ${chosen()} ${inQuery("under") ?? ""}`;
    const { wanted } = this;
    this.isPaged = before != null;
    const query = new URLSearchParams({ kind: chosen().join(",") });
    for (const name of ["q", "under"]) if (inQuery(name)) query.set(name, inQuery(name));
    if (before != null) query.set("before", before);
    this.setState({ isReading: true });
    try {
      const data = await get(`/api/runs/${enc(this.props.id)}/log?${query}`);
      if (wanted !== this.wanted || this.isGone) return;
      const rows = before == null ? data.rows : [...this.state.rows, ...data.rows];
      this.setState({ rows, total: data.total, before: data.before ?? null, error: null, isReading: false });
    } catch (error) {
      this.setState({ error, isReading: false });
    }
  }

  search(text) {
    clearTimeout(this.typing);
    this.typing = setTimeout(() => changeQuery({ q: text }, true), 250);
  }

  render({ outline }, { rows, total, before, error, isReading }) {
    const kinds = chosen();
    const toggle = (kind, isOn) => changeQuery({ kind: KINDS.filter((one) => (one === kind ? isOn : kinds.includes(one))).join(",") }, true);
    return html`
      <p class="switches">
        <label>find in the log <input type="search" aria-keyshortcuts="/" value=${inQuery("q") ?? ""} onInput=${(event) => this.search(event.target.value)} /></label>
        ${KINDS.map((kind) => html`<label key=${kind}><input type="checkbox" checked=${kinds.includes(kind)} onChange=${(event) => toggle(kind, event.target.checked)} /> ${kind}</label>`)}
        ${inQuery("under") ? html`<button type="button" onClick=${() => changeQuery({ under: null }, true)}>under <bdi>${outline.words(inQuery("under"))}</bdi> ×</button>` : null}
      </p>
      ${error ? html`<p role="alert" class="error"><bdi>${error.message}</bdi></p>` : null}
      <ol class="log" aria-label="Log, newest first" aria-busy=${isReading ? "true" : undefined}>
        ${rows.map((row) => html`
          <li key=${row.id} class=${`heard is-${row.what}`}>
            <time>${time(row.t)}</time> <span class="kind"><bdi>${row.what}</bdi></span>
            <span class="said">${row.path ? html`<a class="at" ...${toQuery({ step: row.path, try: null, part: null })}><bdi>${outline.words(row.path)}</bdi></a> ` : null}<bdi class="text">${row.text}</bdi></span>
          </li>
        `)}
      </ol>
      ${!rows.length && !isReading ? html`<p class="empty">Nothing was found.</p>` : null}
      ${before != null ? html`<p class="buttons"><button type="button" onClick=${() => this.read(before)}>Older</button></p>` : rows.length ? html`<p class="mute">This is the beginning; ${plural(total ?? 0, "event")} in all.</p>` : null}
    `;
  }
}
