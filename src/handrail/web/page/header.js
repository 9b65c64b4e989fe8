// The header of every page: where this is, what needs a person, and what can be done from everywhere.
import { inQuery } from "./address.js";
import { bdi, Component, html, readOnly, remembered } from "./dom.js";
import { addressOf, needAddress } from "./routes.js";
import { askForNotes, stopNotes, wantsNotes } from "./news.js";

export const applyTheme = () => {
  const theme = remembered.get("theme");
  theme ? (document.documentElement.dataset.theme = theme) : delete document.documentElement.dataset.theme;
};

class Theme extends Component {
  render() {
    const set = (theme) => {
      remembered.set("theme", theme || null);
      applyTheme();
      this.setState({});
    };
    return html`
      <select aria-label="Theme" value=${remembered.get("theme") ?? ""} onChange=${(e) => set(e.target.value)}>
        <option value="">Theme: system</option><option value="light">Theme: light</option><option value="dark">Theme: dark</option>
      </select>
    `;
  }
}

class Notify extends Component {
  async toggle(on) {
    this.setState({ isDenied: on ? !(await askForNotes()) : (stopNotes(), false) });
  }

  render(_, { isDenied }) {
    return html`
      <button onClick=${() => this.toggle(!wantsNotes())}>${wantsNotes() ? "Do not notify me" : "Notify me"}</button>
      ${isDenied ? html`<p role="alert" class="error">The browser does not allow notifications for this page.</p>` : null}
    `;
  }
}

const Menu = ({ onHelp, onClose }) => {
  const hide = (work) => () => {
    document.getElementById("menu").hidePopover();
    work?.();
  };
  return html`
    <div id="menu" popover class="menu">
      <ul onClick=${(event) => event.target.closest("a") && hide()()}>
        <li class="narrow"><a href="/launch">Launch</a></li>
        <li><a href="/catalog" aria-keyshortcuts="c">Catalog <kbd>c</kbd></a></li>
        <li class="narrow"><${Theme} /></li>
        <li><${Notify} /></li>
        <li><button aria-keyshortcuts="?" onClick=${hide(onHelp)}>Keys <kbd>?</kbd></button></li>
        <li><button disabled=${!!readOnly} onClick=${hide(onClose)}>Shut down…</button></li>
      </ul>
    </div>
  `;
};

export const countWords = (count) => (count ? `${count} ${count === 1 ? "needs" : "need"} you` : "nothing needs you");

// Pages with a field of their own to find something: `/` leads there, and everywhere else to home.
const hasFind = (view) => ["home", "catalog", "choose"].includes(view) || (view === "run" && inQuery("view") === "log");

export const Header = ({ head, rows, topic, view, isLive, onHelp, onClose, onFind }) => {
  const needs = rows.filter((row) => row.group === "needs");
  const order = rows.filter((row) => row.group !== "recent" || row.id === topic || row.order < 20);
  const at = order.findIndex((row) => row.id === topic);
  const beside = (step) => (at < 0 ? null : order[at + step]);
  const oldest = needs.find((row) => row.need);
  return html`
    <header class="top">
      <a href="/" class="brand" aria-keyshortcuts=${location.pathname === "/" ? undefined : "b"}>handrail</a>
      <span class="where">${bdi(head?.project ?? document.body.dataset.project)}${head?.branch ? html` · ${bdi(head.branch)}` : null}</span>
      <a class=${needs.length ? "count waiting" : "count"} href=${oldest ? needAddress(oldest.id, oldest.need.id) : "/"}
        aria-keyshortcuts=${oldest && view !== "need" ? "a" : undefined}>${countWords(needs.length)}</a>
      <nav aria-label="Handrail">
        ${hasFind(view) ? null : html`<button class="wide" aria-keyshortcuts="/" onClick=${onFind}>Find a run <kbd>/</kbd></button>`}
        <a class="button wide" href="/launch" aria-keyshortcuts="n">Launch <kbd>n</kbd></a>
        <span class="wide"><${Theme} /></span>
        <button popovertarget="menu">Menu</button>
        ${beside(-1) ? html`<a hidden href=${addressOf(beside(-1).id)} aria-keyshortcuts="[">previous run</a>` : null}
        ${beside(1) ? html`<a hidden href=${addressOf(beside(1).id)} aria-keyshortcuts="]">next run</a>` : null}
      </nav>
      <span class=${isLive ? "live" : "live lost"}>${isLive ? "live" : "not live"}</span>
      <${Menu} onHelp=${onHelp} onClose=${onClose} />
    </header>
    ${readOnly ? html`<p class="notice">! ${readOnly}</p>` : null}
  `;
};
