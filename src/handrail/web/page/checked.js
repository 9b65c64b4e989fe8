// What Handrail checked itself: it holds, it does not hold, or it was not run.
import { html } from "./dom.js";
import { duration, time } from "./words.js";

const SAID = { true: ["done", "✓", "holds"], false: ["failed", "✗", "does not hold"], null: ["pending", "○", "not run"] };

const facts = (check, place) =>
  [place, check.seconds == null ? "" : duration(check.seconds), check.at == null ? "" : time(check.at), check.stale ? "stale: files changed since" : ""].filter(Boolean);

export const Check = ({ check, place }) => {
  const [kind, sign, word] = SAID[String(check.held ?? null)];
  return html`
    <li class="check">
      <span class=${`sign ${kind}`} aria-hidden="true">${sign}</span>
      <span class="name"><bdi>${check.name ?? check.kind}</bdi></span>
      <span class=${`word ${kind}`}>${word}</span>
      <span class="mute"><bdi>${facts(check, place).join(" · ")}</bdi></span>
      ${check.held === true || !check.detail ? null : html`<pre><bdi>${check.detail}</bdi></pre>`}
    </li>
  `;
};

export const Checks = ({ checks, outline }) =>
  checks.length
    ? html`<ul class="checked">${checks.map((check) => html`<${Check} key=${check.id ?? check.name} check=${check} place=${outline && check.node ? outline.words(check.node) : null} />`)}</ul>`
    : html`<p class="empty">Nothing was checked.</p>`;
