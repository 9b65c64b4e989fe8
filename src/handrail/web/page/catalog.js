// All definitions, by where they come from, with what is wrong with them. And the same list to choose what to launch.
import { bdi, html } from "./dom.js";
import { ask, catalogAddress, go, launchAddress } from "./routes.js";
import { plural } from "./words.js";

const STATES = { broken: ["failed", "✗"], "needs-broken": ["failed", "✗"], warned: ["interrupted", "!"], untrusted: ["interrupted", "!"], ok: ["", ""] };
const ORDER = ["project", "user", "builtin"];
const SOURCES = { builtin: "built-in" };
const rank = (source) => (ORDER.includes(source) ? ORDER.indexOf(source) : ORDER.length);

// What names it in an address: the key, or the key with a number if another definition with this key is nearer.
export const nameOf = (entry) => entry.id.slice(entry.kind.length + 1);
export const canLaunch = (entry) => !["broken", "needs-broken"].includes(entry.state);

export const problemWords = (entry) => {
  const problems = entry.problems ?? [];
  const count = (severity) => problems.filter((problem) => problem.severity === severity).length;
  const words = [["error", count("error")], ["warning", count("warning")]].filter(([, number]) => number).map(([word, number]) => plural(number, word));
  if (entry.state === "needs-broken") return `needs ${entry.uses?.join(", ") || "a definition"}, which has errors`;
  return words.join(", ");
};

const holds = (entry, find) => !find || `${nameOf(entry)} ${entry.name} ${entry.description}`.toLowerCase().includes(find.toLowerCase());

// Where another definition comes from: "built-in plan".
const placeIn = (all) => (id) => {
  const other = all.find((entry) => entry.id === id);
  return other ? `${SOURCES[other.source] ?? other.source} ${other.name}` : id;
};

const Entry = ({ entry, isLaunch, placeOf }) => {
  const [state, sign] = STATES[entry.state] ?? STATES.ok;
  const words = problemWords(entry);
  const more = [entry.kind === "workflow" && entry.command && `/workflow ${entry.command}`, entry.shadows?.length && `hides ${entry.shadows.map(placeOf).join(", ")}`, entry.shadowedBy && `hidden by ${placeOf(entry.shadowedBy)}`].filter(Boolean).join(" · ");
  const phases = Array.isArray(entry.phases) ? entry.phases.length : entry.phases;
  return html`
    <li class=${`entry definition ${state}`}>
      <span class=${`sign ${state}`} aria-hidden="true">${sign}</span>
      <span class="title"><a class="name" href=${(isLaunch ? launchAddress : catalogAddress)(entry.kind, nameOf(entry))}>${bdi(entry.name)}</a> <span class="about">${entry.kind}${entry.visible === false && canLaunch(entry) && entry.kind !== "plugin" ? ", hidden" : ""}</span></span>
      <span class="what">${words ? html`<strong class="word ${state}">${bdi(words)}</strong> ` : null}${bdi(entry.description ?? "")} ${more ? html`<span class="mute">${bdi(more)}</span>` : null}</span>
      <span class="figure">${phases ? plural(phases, "phase") : ""}</span>
    </li>
  `;
};

const List = ({ entries, all, query, isLaunch }) => {
  const placeOf = placeIn(all);
  const sources = [...new Set(entries.map((entry) => entry.source))].sort((a, b) => rank(a) - rank(b) || String(a).localeCompare(b));
  const isFound = !!query.get("find") || query.get("problems");
  return sources.map((source) => {
    const members = entries.filter((entry) => entry.source === source).sort((a, b) => nameOf(a).localeCompare(nameOf(b)));
    return html`
      <details key=${source} class="group" open=${isFound || rank(source) < 2 || source === sources[0]}>
        <summary><h2>${bdi(SOURCES[source] ?? source)} <span class="figures">${members.length}</span></h2></summary>
        <ul>${members.map((entry) => html`<${Entry} key=${entry.id} entry=${entry} isLaunch=${isLaunch} placeOf=${placeOf} />`)}</ul>
      </details>
    `;
  });
};

const openFirst = (event) => {
  const link = event.key === "Enter" && event.target.value && document.querySelector("main .entry a.name");
  if (link) go(link.getAttribute("href"));
};

const Bar = ({ title, query, children }) => html`
  <div class="titlebar"><h1 tabindex="-1">${title}</h1>
    <input type="search" onKeyDown=${openFirst} aria-keyshortcuts="/" aria-label="Find a definition" placeholder="find a definition" value=${query.get("find") ?? ""} onInput=${(e) => ask({ find: e.target.value })} />
    ${children}</div>
`;

export const Catalog = ({ catalog, query }) => {
  if (!catalog?.seq) return html`<h1>Catalog</h1><p class="empty">Reading the definitions …</p>`;
  const all = catalog.rows("entries").filter((entry) => entry.source !== "builtin" || entry.visible);
  const broken = all.filter((entry) => !canLaunch(entry)).length;
  const untrusted = all.filter((entry) => entry.state === "untrusted").length;
  const onlyProblems = query.get("problems") === "1";
  const entries = all.filter((entry) => holds(entry, query.get("find")) && (!onlyProblems || entry.state !== "ok"));
  return html`
    <${Bar} title="Catalog" query=${query}>
      <label><input type="checkbox" checked=${onlyProblems} onChange=${(e) => ask({ problems: e.target.checked ? "1" : null })} /> problems only</label>
      <span class="mute">${plural(all.length, "definition")}</span>
      ${(catalog.head?.settings ?? []).map((problem) => html`<strong key=${problem.line} class="word failed">✗ ${bdi(`${problem.file}:${problem.line}: ${problem.message}`)}${problem.hint ? bdi(`; ${problem.hint}`) : null}</strong>`)}
      ${broken ? html`<strong class="word failed">✗ ${broken} broken</strong>` : null} ${untrusted ? html`<strong class="word interrupted">! ${untrusted} not trusted</strong>` : null}
    <//>
    ${entries.length ? html`<${List} entries=${entries} all=${all} query=${query} />` : html`<p class="empty">nothing fits</p>`}
  `;
};

const MOST_LEFT_OUT = 5;

// What is not in the list because it has errors: without this line, a person searches for it in vain.
const LeftOut = ({ entries }) => html`
  <section class="left-out" aria-label="Cannot be launched">
    <p><strong class="word failed">✗ ${entries.length} cannot be launched:</strong></p>
    <ul class="lines">
      ${entries.slice(0, MOST_LEFT_OUT).map((entry) => html`<li key=${entry.id}><a href=${catalogAddress(entry.kind, nameOf(entry))}>${bdi(entry.name)}</a> ${entry.state === "broken" ? `broken (${problemWords(entry)})` : bdi(problemWords(entry))}</li>`)}
      ${entries.length > MOST_LEFT_OUT ? html`<li><a href="/catalog?problems=1">and ${entries.length - MOST_LEFT_OUT} more</a></li>` : null}
    </ul>
  </section>
`;

export const Choose = ({ catalog, query }) => {
  if (!catalog?.seq) return html`<h1>Launch</h1><p class="empty">Reading the definitions …</p>`;
  const all = catalog.rows("entries");
  const found = all.filter((entry) => ["flow", "workflow"].includes(entry.kind) && !entry.shadowedBy && holds(entry, query.get("find")));
  const entries = found.filter((entry) => canLaunch(entry) && entry.visible !== false);
  const leftOut = found.filter((entry) => !canLaunch(entry)).sort((a, b) => nameOf(a).localeCompare(nameOf(b)));
  return html`
    <${Bar} title="Launch what?" query=${query} />
    ${entries.length ? html`<${List} entries=${entries} all=${all} query=${query} isLaunch />` : html`<p class="empty">nothing fits</p>`}
    ${leftOut.length ? html`<${LeftOut} entries=${leftOut} />` : null}
  `;
};
