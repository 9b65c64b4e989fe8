// One guided session: where its agent is, what it may do there, what was checked, how it got there and what was denied.
import { Exactly } from "./buttons.js";
import { Dialog, Problem } from "./dialog.js";
import { needsOf, post } from "./doing.js";
import { bdi, Component, html, readOnly } from "./dom.js";
import { Graph } from "./cards.js";
import { Question } from "./form.js";
import { Preview } from "./preview.js";
import { Fetched } from "./reading.js";
import { graphOfStops } from "./shapes.js";
import { age, duration, plural, SIGNS, time, WORDS } from "./words.js";

const gateWords = ({ allow, deny }) => {
  if (allow) return `only ${allow.join(", ") || "nothing"}`;
  return deny?.length ? `all but ${deny.join(", ")}` : "all tools";
};

const ordinal = (number) => `${number}${["th", "st", "nd", "rd"][number % 100 > 10 && number % 100 < 14 ? 0 : number % 10] ?? "th"}`;
const HELD = { true: ["done", "✓", "holds"], false: ["failed", "✗", "does not hold"], null: ["pending", "○", "never run"] };

const Check = ({ check }) => {
  const [name, sign, said] = HELD[check.held ?? null];
  const word = check.held == null && check.at != null ? "could not run" : said;
  return html`
    <li><span class=${`sign ${name}`} aria-hidden="true">${sign}</span> ${bdi(check.name)} <span class="mute">${word}${check.at == null ? "" : ` · ${time(check.at)}`}${check.stale ? " · stale: the tree changed since" : ""}</span>
      ${check.held || !check.detail ? null : html`<details><summary>what it found</summary><pre tabindex="0">${bdi(check.detail)}</pre></details>`}</li>
  `;
};

const tookOf = (stop, head, now) => (stop.entered == null ? null : (stop.left ?? head.ended ?? now) - stop.entered);

const Here = ({ stop, checks, head, said, now }) => {
  const writes = stop.gate?.writes;
  const never = (stop.exit ?? []).filter((claim) => !checks.some((check) => check.name === claim || check.claim === claim));
  return html`
    <h2>${bdi(stop.name)}<span class="mute">${stop.visits > 1 ? `, ${ordinal(stop.visits)} visit` : ""}${stop.entered == null ? "" : `, ${duration(tookOf(stop, head, now))}`}</span></h2>
    <dl class="facts-list">
      <dt>gate</dt><dd>${bdi(gateWords(stop.gate ?? {}))}${writes ? html` · writes ${bdi((Array.isArray(writes) ? writes : [writes]).join(", "))}` : null}</dd>
      <dt>exit</dt><dd>${checks.length || never.length ? html`<ul class="checks">
        ${checks.map((check) => html`<${Check} key=${check.id} check=${check} />`)}
        ${checks.length ? null : never.map((claim) => html`<li key=${claim}><span class="sign pending" aria-hidden="true">○</span> ${bdi(claim)} <span class="mute">never run</span></li>`)}
      </ul>` : "no checks"}</dd>
      ${said ? html`<dt>said</dt><dd>${bdi(said.summary)} <span class="mute">(${bdi(said.name)}, a claim)</span></dd>` : null}
      ${isOpen(head) && !head.agent ? html`<dt>next</dt><dd><code>handrail next --summary 'what you did'</code> in a terminal</dd>` : null}
    </dl>
  `;
};

const Moves = ({ moves, names }) => html`
  <details open=${moves.length < 12}><summary>Moves ${moves.length}</summary>
    <ol class="lines">${moves.map((move) => html`<li key=${move.id}><span class="figure">${time(move.at)}</span> ${move.how === "loop" ? "↻ " : ""}${move.how}${move.by && move.how !== "next" ? ` by ${move.by}` : ""}${move.to == null ? "" : html` → ${bdi(names[move.to] ?? String(move.to + 1))}`}
      ${move.summary ? html` <span class="mute">${bdi(move.summary)}</span>` : null}</li>`)}</ol>
  </details>
`;

const Denials = ({ denials }) => html`
  <details open=${denials.length > 0 && denials.length < 12}><summary>Denied ${denials.reduce((sum, row) => sum + (row.count ?? 1), 0)}</summary>
    <ul class="lines">${denials.map((row) => html`<li key=${row.id}><span class="figure">${time(row.last ?? row.first)}</span> ${bdi(row.tool)} ×${row.count ?? 1} <span class="mute">${bdi([row.rule, row.reason?.split(". ")[0]].filter(Boolean).join(": "))}</span>
      ${row.excerpt ? html` <code>${bdi(row.excerpt)}</code>` : null}</li>`)}</ul>
  </details>
`;

// What to do now. It is read again after every change, because a move leads to other instructions.
const Told = ({ id, agent, version }) => html`
  <h3>What to do now</h3>
  <${Fetched} path=${`/api/sessions/${encodeURIComponent(id)}/text`} version=${version}>${(data) => html`
    <${Preview} shown=${data.instructions} />
    ${agent ? html`<details><summary>What the agent is told now</summary><pre class="text" tabindex="0">${bdi(data.text)}</pre></details>` : null}
  `}<//>
`;

const QUESTIONS = {
  cancel: ["Cancel…", (name) => `Cancel ${name}?`, "The agent is no longer held to it. The session keeps its record.", "Cancel the workflow", "Keep it"],
  goto: ["Go to…", () => "Go to another phase?", "What came after it is void: summaries, and results of checks. The agent is told why.", "Go there", "Stay"],
  reload: ["Reload…", (name) => `Load the files of ${name} again?`, "The session stays in the same phase.", "Load them", "Leave it"],
};

class SessionButtons extends Component {
  async doIt(action) {
    this.setState({ error: null });
    try {
      const { phase, reason } = this.state;
      await post(`/api/sessions/${encodeURIComponent(this.props.id)}/${action}`, action === "goto" ? { phase, reason } : {});
      this.setState({ asked: null });
    } catch (error) {
      this.setState({ error });
    }
  }

  // The phase to go to, and why.
  target(stops) {
    return html`
      <div class="field"><label for="goto-phase">Phase</label><select id="goto-phase" value=${this.state.phase} onChange=${(e) => this.setState({ phase: e.target.value })}>
        <option value="">choose</option>
        ${stops.map((stop) => html`<option key=${stop.id} value=${stop.levels.map((level) => level[1]).join(".")}>${stop.name}</option>`)}
      </select></div>
      <div class="field"><label for="goto-reason">Why</label><input id="goto-reason" value=${this.state.reason} onInput=${(e) => this.setState({ reason: e.target.value })} /></div>
    `;
  }

  render({ id, head, stops }, { asked, error, phase, reason }) {
    const isIncomplete = asked === "goto" && !(phase && reason.trim());
    const off = { disabled: !!readOnly, title: readOnly || undefined };
    const close = () => this.setState({ asked: null, error: null });
    return html`
      <p class="buttons">${Object.keys(QUESTIONS).map((name) => html`<button key=${name} ...${off} onClick=${() => this.setState({ asked: name, phase: "", reason: "" })}>${QUESTIONS[name][0]}</button>`)}</p>
      ${asked ? html`<${Dialog} title=${QUESTIONS[asked][1](head.name ?? "this session")} onClose=${close}><${Exactly} about=${head.task} id=${id} /><p>${QUESTIONS[asked][2]}</p>${asked === "goto" ? this.target(stops) : null}<${Problem} error=${error} />
        <p class="buttons"><button onClick=${close}>${QUESTIONS[asked][4]}</button><button disabled=${isIncomplete} onClick=${() => this.doIt(asked)}>${QUESTIONS[asked][3]}</button></p><//>` : null}
    `;
  }
}

const isOpen = (head) => ["active", "waiting", "interrupted"].includes(head.status);
const turnWords = { agent: "agent's turn", person: "your turn" };

export const Session = ({ id, received, now }) => {
  const head = received.head;
  if (!head) return html`<h1>Session</h1><p class="empty">Reading the session …</p>`;
  const stops = received.rows("stops").sort((a, b) => a.order - b.order);
  const here = stops.find((stop) => stop.state === "current");
  const said = stops.filter((stop) => stop.summary && stop.left != null).sort((a, b) => b.left - a.left)[0];
  const moves = received.rows("moves").sort((a, b) => a.at - b.at);
  const facts = [head.statusLine, isOpen(head) && turnWords[head.turn], `sent on ${head.sentOn ?? "–"}`, `denied ${head.denied ?? "–"}`,
    head.started == null ? "–" : duration((head.ended ?? now) - head.started)];
  return html`
    <p class="crumbs"><a href="/" aria-keyshortcuts="b">‹ home</a></p>
    <div class="titlebar">
      <h1 tabindex="-1">${bdi(head.name ?? "Session")} <span class="about">${bdi(head.task)}${head.agent ? ` · ${head.agent}` : ""}</span></h1>
      <span class=${`state ${head.status}`}><span class="sign" aria-hidden="true">${SIGNS[head.status] ?? "·"}</span> <strong class="word">${WORDS[head.status] ?? head.status}</strong> · ${plural(head.steps ?? 0, "move")}</span>
      ${isOpen(head) ? html`<${SessionButtons} id=${id} head=${head} stops=${stops} />` : null}
    </div>
    <p class="facts">${facts.filter(Boolean).map((fact) => html`<span key=${fact}>${bdi(fact)}</span>`)}${head.run ? html`<a href=${`/runs/${encodeURIComponent(head.run)}`}>run ${bdi(head.run)}</a>` : null}</p>
    ${head.reason && head.question ? html`<p class="notice">? ${head.cancelPending ? "The agent asks to cancel the workflow" : "The agent cannot go on"}: ${bdi(head.reason)}</p>` : null}
    ${head.cancelPending && !head.question ? html`<p class="notice">A cancel waits for its confirmation.</p>` : null}
    ${head.stoppedIdle ? html`<p class="notice">! The agent stopped ${head.stoppedIdle === 1 ? "once" : `${head.stoppedIdle} times`} without progress.</p>` : null}
    ${needsOf(received, `session:${id}`).filter((need) => !need.answered).map((need) => html`<${Question} key=${need.id} need=${{ of: `session:${id}`, ...need }} />`)}
    ${here ? html`<${Here} stop=${here} head=${head} said=${said} now=${now} checks=${received.rows("checks").filter((check) => (check.stop ?? Number(check.node)) === here.order)} />` : null}
    ${isOpen(head) ? html`<${Told} id=${id} agent=${head.agent} version=${received.seq} />` : null}
    <${Graph} item=${graphOfStops(stops)} took=${(stop) => tookOf(stop, head, now)} label="Phases of this session" />
    <${Moves} moves=${moves} names=${stops.map((stop) => stop.name)} />
    <${Denials} denials=${received.rows("denials")} />
    ${moves.length ? html`<p class="mute">last: ${moves.at(-1).how} ${age(moves.at(-1).at, now)} ago</p>` : null}
  `;
};
