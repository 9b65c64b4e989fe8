// What a person approves: the effect first, then what Handrail checked, then what changed. The agent's claim stands apart.
import { bdi, html } from "./dom.js";
import { duration, plural, SIGNS } from "./words.js";

const CHECKS = { true: ["done", "✓"], false: ["failed", "✗"], null: ["pending", "○"] };

const gateWords = (gate) => {
  if (!gate || typeof gate === "string") return gate ?? "";
  if (gate.allow) return `only ${gate.allow.join(", ")}`;
  return gate.deny?.length ? `all but ${gate.deny.join(", ")}` : "all tools";
};

const Check = ({ check, tree }) => {
  const [name, sign] = CHECKS[check.held ?? null];
  const facts = [check.held == null ? "not run" : check.detail, check.seconds != null ? duration(check.seconds) : "",
    tree ? `tree ${tree.slice(0, 7)}${check.stale ? ", changed since" : check.stale === false ? ", unchanged since" : ""}` : ""];
  return html`<li><span class=${`sign ${name}`} aria-hidden="true">${sign}</span> <code>${bdi(check.name)}</code> <span class="mute">${bdi(facts.filter(Boolean).join(" · "))}</span></li>`;
};

const Changes = ({ changes }) => {
  const files = changes.files ?? (Array.isArray(changes) ? changes : []);
  const isCounted = files.every((file) => file.added != null && file.removed != null);
  const lines = (added, removed) => (isCounted ? ` +${added} −${removed}` : "");
  const sum = (name) => files.reduce((total, file) => total + (file[name] ?? 0), 0);
  return html`<details><summary>Changed ${plural(files.length, "file")}${lines(sum("added"), sum("removed"))}</summary>
    <ul class="files">${files.map((file) => html`<li key=${file.path}>${bdi(`${file.status ?? ""} ${file.path ?? file}${lines(file.added, file.removed)}`.trim())}</li>`)}</ul>
    ${changes.diff ? html`<pre tabindex="0">${bdi(changes.diff)}</pre>` : null}</details>`;
};

export const Facts = ({ need }) => {
  const action = need.action ?? {};
  const described = need.form?.description;
  return html`
    ${action.does && action.does !== need.title ? html`<p class="effect">If you approve: <strong>${bdi(action.does)}</strong>${action.gate ? html` (${bdi(gateWords(action.gate))})` : null}</p>` : null}
    ${action.command?.length ? html`<p>It runs this command, one argument per line:</p>
      <ol class="argv">${action.command.map((word, index) => html`<li key=${index}><code>${bdi(word)}</code></li>`)}</ol>` : null}
    ${action.checks?.length ? html`<h3>Checked by Handrail</h3><ul class="checks">${action.checks.map((check) => html`<${Check} key=${check.name} check=${check} tree=${action.tree} />`)}</ul>` : null}
    ${action.changes ? html`<${Changes} changes=${action.changes} />` : null}
    ${described ? html`<pre class="facts" tabindex="0">${bdi(described)}</pre>` : null}
    ${action.claim ? html`<figure class="claim"><figcaption>said by the agent, not checked</figcaption><pre>${bdi(action.claim)}</pre></figure>` : null}
    ${!action.checks && !action.changes && !described ? html`<p class="mute">${SIGNS.pending} No check ran, and no change was recorded.</p>` : null}
  `;
};
