// The head of a run: what it is, how it stands, what went in and what came out.
import { Buttons } from "./buttons.js";
import { html } from "./dom.js";
import { cost, duration, plural, SIGNS, WORDS } from "./words.js";

const QUIET = 60; // seconds without any event before it is said

const plain = (value) => (typeof value === "string" ? value : JSON.stringify(value) ?? "–");
const pairs = (value) => Object.entries(value ?? {}).filter(([, one]) => one != null);

// Which agent gets which steps.
const routesOf = (routes) =>
  pairs({ ...routes?.groups, default: routes?.agent, preset: routes?.preset });

const Pair = ({ pair: [name, value], sign }) => html`<li><bdi>${name}</bdi>${sign} <bdi>${plain(value)}</bdi></li>`;

const In = ({ head }) => {
  const given = pairs(head.params);
  const routes = routesOf(head.routes);
  const all = [...given.map(([name, value]) => `${name} ${plain(value)}`), ...routes.map(([name, value]) => `${name}: ${plain(value)}`)];
  if (!all.length && !head.about && !head.scope) return html`<p class="inout"><b>IN</b> <span class="mute">nothing was given</span></p>`;
  return html`
    <details class="inout">
      <summary><b>IN</b>
        <bdi>${all.join(" · ") || head.about || `scope ${plain(head.scope)}`}</bdi>
      </summary>
      <ul>
        ${given.map((pair) => html`<${Pair} key=${`p${pair[0]}`} pair=${pair} sign="" />`)}
        ${routes.map((pair) => html`<${Pair} key=${`r${pair[0]}`} pair=${pair} sign=":" />`)}
        ${pairs(head.limits).map((pair) => html`<${Pair} key=${`l${pair[0]}`} pair=${["limit", pair.map(plain).join(" ")]} sign="" />`)}
        ${head.scope ? html`<li>scope <bdi>${plain(head.scope)}</bdi></li>` : null}
      </ul>
    </details>
  `;
};

export const fileName = (path) => String(path ?? "").split("/").pop();

// The newest version of each file.
export const newest = (artifacts) => {
  const found = new Map();
  for (const row of [...artifacts].sort((a, b) => (a.created ?? 0) - (b.created ?? 0))) found.set(row.path ?? row.name, row);
  return [...found.values()];
};

const Out = ({ artifacts }) => {
  const files = newest(artifacts);
  if (!files.length) return html`<p class="inout"><b>OUT</b> <span class="mute">no step has named a file that it made</span></p>`;
  return html`
    <details class="inout">
      <summary><b>OUT</b>
        <bdi>${files.map((row) => `${fileName(row.path)}${row.version ? ` v${row.version}` : ""}`).join(" · ")}</bdi>
      </summary>
      <ul>${files.map((row) => html`<li key=${row.id}><a href=${`/artifacts/${encodeURIComponent(row.id)}`}><bdi>${row.path}</bdi></a></li>`)}</ul>
    </details>
  `;
};

const limitOf = (head) => (head.limits?.usd != null ? ` of $${head.limits.usd}` : "");

// What can be done now.
const actionsOf = (head, status) => {
  if (status === "interrupted" || status === "answered") return ["stop", "resume"];
  return ["running", "waiting", "delayed"].includes(head.status) ? ["stop"] : head.modes ?? [];
};

export const RunHead = ({ id, head, status, took, quiet, delay, artifacts, place }) => html`
  <header class="title">
    <p class="crumbs"><a href="/" aria-keyshortcuts="b">‹ home</a></p>
    <div class="titlebar">
      <h1 tabindex="-1"><bdi>${head.name}</bdi> <span class="about"><bdi>${head.about}</bdi></span></h1>
      <p class="buttons"><${Buttons} run=${id} name=${head.name} about=${head.about} actions=${actionsOf(head, status)} /></p>
    </div>
    <p class="facts">
      <span><span class=${`sign ${status}`} aria-hidden="true">${SIGNS[status] ?? "·"}</span> <strong class=${`word ${status}`}>${WORDS[status] ?? status}</strong></span>
      <span>${head.done ?? "–"}/${head.total == null ? "– steps" : plural(head.total, "step")}</span>
      <span title="how long Handrail drove it">${head.atLeast || status === "interrupted" ? "≥ " : ""}${duration(took)}</span>
      <span title="cost">${cost(head.usage)}${limitOf(head)}</span>
      ${delay > 0 ? html`<span class="word delayed">continues in ${duration(delay)}</span>` : null}
      ${quiet > QUIET && status === "running" ? html`<span class="word waiting">quiet ${duration(quiet)}</span>` : null}
      <span><bdi>${id}</bdi> · attempt ${head.attempt ?? 1}${head.worktree ? html` · <bdi>${head.worktree}</bdi>` : null}</span>
    </p>
    ${head.why?.message
      ? html`<p class="why"><bdi>${[place, head.why.message].filter(Boolean).join(": ")}</bdi> ${head.why.code ? html`<code><bdi>${head.why.code}</bdi></code>` : null}</p>`
      : null}
    <${In} head=${head} />
    <${Out} artifacts=${artifacts} />
  </header>
`;
