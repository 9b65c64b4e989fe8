// One guided session: its phases, the last results of its exit checks, its moves.
import { html } from "./dom.js";
import { duration, SIGNS, time, WORDS } from "./words.js";

const gate = ({ allow, deny }) => {
  if (allow) return `only ${allow.join(", ")}`;
  return deny?.length ? `all but ${deny.join(", ")}` : "all tools";
};

const Check = ({ check }) => html`
  <li class=${check.held === true ? "done" : check.held === false ? "failed" : "pending"}>
    <span aria-hidden="true">${check.held === true ? "✓" : check.held === false ? "✗" : "○"}</span>
    <bdi>${check.name}</bdi>
    ${check.held === null ? " could not run" : check.held ? " holds" : " does not hold"} · ${time(check.at)}
    ${check.held ? null : html`<pre><bdi>${check.detail}</bdi></pre>`}
  </li>
`;

const Stop = ({ stop, checks, now }) => html`
  <li class=${`stop ${stop.state}`} aria-current=${stop.state === "current" ? "step" : undefined}>
    <span class=${`sign ${stop.state}`} aria-hidden="true">${SIGNS[stop.state]}</span>
    <span class="name"><bdi>${stop.emoji} ${stop.levels.slice(1).map(([name]) => `${name} › `).join("")}${stop.name}</bdi></span>
    <span class="word">${WORDS[stop.state]}</span>
    <span class="figure">${stop.entered == null ? "" : duration((stop.left ?? now) - stop.entered)}</span>
    <span class="figure">${stop.visits > 1 ? `visit ${stop.visits}` : ""}</span>
    <p class="more">
      ${stop.state === "current" ? html`tools: ${gate(stop.gate)}` : null}
      ${stop.summary ? html`<bdi>${stop.summary}</bdi>` : null}
    </p>
    ${stop.state === "current" && (checks.length || stop.exit.length)
      ? html`<ul class="checks">
          ${checks.length
            ? checks.map((check) => html`<${Check} key=${check.id} check=${check} />`)
            : stop.exit.map((claim) => html`<li key=${claim} class="pending">○ <bdi>${claim}</bdi> · never run</li>`)}
        </ul>`
      : null}
  </li>
`;

export const Session = ({ received, now }) => {
  const head = received.head;
  if (!head) return html`<p class="empty">Reading the session …</p>`;
  const stops = received.rows("stops").sort((a, b) => a.order - b.order);
  const checks = received.rows("checks");
  return html`
    <header class="title">
      <h1 tabindex="-1"><bdi>${head.name ?? "Session"}</bdi> <span class="about"><bdi>${head.task}</bdi></span></h1>
      <p class="facts">
        <span class=${`sign ${head.status}`} aria-hidden="true">${SIGNS[head.status] ?? "·"}</span>
        <strong class=${`word ${head.status}`}>${WORDS[head.status] ?? head.status}</strong>
        <span>${head.agent ?? ""}</span>
        <span>${head.steps} moves</span>
        <span>sent on ${head.sentOn}</span>
        <span>${head.started == null ? "" : duration((head.ended ?? now) - head.started)}</span>
      </p>
      ${head.cancelPending ? html`<p class="why">A cancel waits for its confirmation.</p>` : null}
    </header>
    <ol class="stops">
      ${stops.map((stop) => html`
        <${Stop} key=${stop.id} stop=${stop} now=${now} checks=${checks.filter((check) => check.stop === stop.order)} />
      `)}
    </ol>
  `;
};
