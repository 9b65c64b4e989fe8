// The line of time of one row: one bar per try and wait. Kinds differ by their pattern, not by colour alone.
import { Component, html } from "./dom.js";
import { united } from "./spans.js";
import { duration } from "./words.js";

const place = (scale, from, to) => {
  const x = scale.x(from);
  return { left: `min(${x.toFixed(3)}%, calc(100% - var(--least)))`, width: `${Math.max(0, scale.x(to) - x).toFixed(3)}%` };
};

const afterWork = { done: "done after", failed: "failed after", interrupted: "interrupted after", cancelled: "cancelled after", skipped: "skipped after" };

// "look, try 2, failed after 41s: …"
export const barWords = (bar, row, end) => {
  const length = duration((bar.to ?? end) - bar.from);
  const isOver = bar.to != null;
  const how = {
    work: () => `try ${bar.try}, ${isOver ? afterWork[bar.end] ?? "ended after" : row.status === "interrupted" ? "interrupted after" : "running for"} ${length}`,
    pause: () => `pause of ${length} after try ${bar.try}`,
    delay: () => `delayed for ${length}`,
    asked: () => (isOver ? (bar.end === "answered" ? `answered after ${length}` : `asked for ${length}`) : `waits for you since ${length}`),
    away: () => `no process for ${length}`,
  }[bar.kind];
  const why = bar.end === "failed" && bar.try === row.try && row.why?.message ? `: ${row.why.message}` : "";
  return `${row.name}, ${how ? how() : bar.kind}${why}`;
};

const endOf = (bar, row) => {
  if (bar.to == null) return row.status === "interrupted" ? "interrupted" : "open";
  return bar.end ?? "closed";
};

const Steps = ({ row, bars, scale, end, onOpen }) =>
  bars.map((bar) => html`
    <button
      key=${bar.id} type="button" tabindex="-1" class=${`bar ${bar.kind} ${endOf(bar, row)}`}
      style=${place(scale, bar.from, bar.to ?? end)}
      aria-label=${barWords(bar, row, end)} title=${barWords(bar, row, end)}
      onClick=${(event) => { event.stopPropagation(); onOpen(row, bar.try); }}
    ></button>
  `);

const ENDS = new Set(["failed", "interrupted", "cancelled"]);

// A phase, a round or a repeat: when anything in it worked, above when it waited.
const Together = ({ row, bars, scale, end }) =>
  ["away", "pause", "delay", "asked", "work"].flatMap((kind) => {
    const own = bars.filter((bar) => bar.kind === kind);
    const isOpen = own.some((bar) => bar.to == null) && row.status !== "interrupted";
    return united(own.map((bar) => [bar.from, bar.to ?? end])).map(([from, to], index, all) => {
      const isLast = index === all.length - 1;
      const how = isOpen && isLast ? "open" : isLast && kind === "work" && ENDS.has(row.status) ? row.status : "closed";
      return html`<span key=${`${kind} ${from}`} class=${`bar whole ${kind} ${how}`} style=${place(scale, from, to)}></span>`;
    });
  });

export const Bars = ({ row, bars, scale, end, hasMore, onOpen }) => {
  if (!scale) return null;
  if (!bars.length) return row.status === "skipped" ? html`<span class="dot" title="skipped">·</span>` : null;
  return hasMore
    ? html`<span aria-hidden="true"><${Together} row=${row} bars=${bars} scale=${scale} end=${end} /></span>`
    : html`<${Steps} row=${row} bars=${bars} scale=${scale} end=${end} onOpen=${onOpen} />`;
};

// The marks of time above the bars. A mark that would cover another one is hidden; the gaps come first.
export class Axis extends Component {
  componentDidMount() {
    this.part();
  }

  componentDidUpdate() {
    this.part();
  }

  part() {
    const room = this.element.getBoundingClientRect();
    const marks = [...this.element.children].map((element) => ({ element, box: element.getBoundingClientRect() }));
    const shown = [];
    for (const { element, box } of marks) {
      const isFree = box.right <= room.right + 1 && shown.every((other) => box.right < other.left || box.left > other.right);
      element.classList.toggle("covered", !isFree);
      if (isFree) shown.push(box);
    }
  }

  render({ scale }) {
    return html`
      <span class="axis" ref=${(element) => (this.element = element ?? this.element)}>
        ${scale?.gaps.map((gap) => html`<span key=${`gap ${gap.x}`} class="gap" style=${gapPlace(gap)} title=${`nothing worked for ${duration(gap.seconds)}`}>⋯${gapWords(gap.seconds)}⋯</span>`)}
        ${scale?.ticks.map((tick) => html`<span key=${tick.seconds} class="tick" style=${{ left: `${tick.x.toFixed(3)}%` }}>${tickWords(tick.seconds)}</span>`)}
      </span>
    `;
  }
}

// A gap near the right end is marked before that end, so that its mark does not leave the column.
const gapPlace = ({ x, w }) => ({ left: `min(${x.toFixed(3)}%, calc(100% - 7ch))`, width: `${w}%` });

const tickWords = (seconds) => {
  if (!seconds) return "0";
  if (seconds % 3600 === 0) return `${seconds / 3600}h`;
  return seconds % 60 === 0 ? `${seconds / 60}m` : seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}`;
};

const gapWords = (seconds) => {
  if (seconds >= 3600) return `${Math.round(seconds / 3600)}h`;
  return seconds >= 60 ? `${Math.round(seconds / 60)}m` : `${Math.round(seconds)}s`;
};

export const Legend = () => html`
  <p class="legend" aria-hidden="true">
    ${[["work closed", "work"], ["work failed", "failed"], ["work interrupted", "cancelled, interrupted"], ["pause", "pause"], ["delay", "delayed"], ["asked", "asked"], ["away", "no process"]]
      .map(([kind, word]) => html`<span key=${kind}><i class=${`bar whole ${kind}`}></i> ${word}</span>`)}
    <span><i class="dot">·</i> skipped</span><span>⋯ idle</span>
  </p>
`;
