// Draws a graph: cards and frames as a list of buttons, lines as SVG that only eyes need.
import { Component, html } from "./dom.js";
import { layout, pathOf } from "./graph.js";
import { duration, plural, SIGNS, WORDS } from "./words.js";

const ZOOMS = [0.25, 0.35, 0.5, 0.7, 1, 1.4, 2];
const PHONE = "(max-width: 599px)";

const TOOK = new Set(["done", "running", "current", "failed", "interrupted", "cancelled"]);

// Four fixed corners: sign and name, counter; who or what, duration or word.
const corners = (part, took) => {
  const { row, counter, ran, of } = part;
  const seconds = took?.(row);
  const word = WORDS[row.status] ?? row.status;
  return {
    sign: row.status ? SIGNS[row.status] ?? "·" : "",
    name: row.name,
    counter: counter ?? (of > 1 ? `${ran}/${of}` : row.visits > 1 ? `×${row.visits}` : ""),
    who: row.who ?? (row.flow ? `flow ${row.flow}` : row.node) ?? (row.kind === "phase" && row.children ? plural(row.children, "step") : row.exit?.length ? plural(row.exit.length, "exit check") : ""),
    time: TOOK.has(row.status) && seconds != null ? duration(seconds) : word,
    word,
  };
};

const place = ({ x, y, w, h }) => ({ left: `${x}px`, top: `${y}px`, width: `${w}px`, height: `${h}px` });

const Card = ({ part, took, here, onOpen, onFold }) => {
  const { sign, name, counter, who, time, word } = corners(part, took);
  const { row, isFolded } = part;
  const open = isFolded ? onFold && (() => onFold(part.key, false, row)) : onOpen && (() => onOpen(row));
  const does = open ? { type: "button", "aria-expanded": isFolded ? "false" : undefined, onClick: open } : {};
  return html`
    <li class=${`card ${row.status} ${row.id === here ? "here" : ""}`} style=${place(part)}>
      <${open ? "button" : "div"} class="face" ...${does} aria-current=${row.status === "current" || row.status === "running" ? "step" : undefined}>
        <span class="name"><span class=${`sign ${row.status}`} aria-hidden="true">${isFolded ? "▸ " : ""}${sign}</span>${sign ? " " : ""}<bdi>${row.emoji ? `${row.emoji} ` : ""}${name}</bdi>${time === word ? null : html`<span class="unseen">, ${word}</span>`}</span>
        <span class="counter">${counter}</span>
        <span class="who"><bdi>${who}</bdi></span>
        <span class=${`time ${row.status}`}>${time}</span>
      <//>
    </li>
  `;
};

const Frame = ({ part, onFold }) => {
  if (part.type === "together") return html`<li class="frame together" aria-hidden="true" style=${place(part)}></li>`;
  const status = part.row?.status;
  const words = html`${status ? html`<span class=${`sign ${status}`} aria-hidden="true">${SIGNS[status] ?? "·"}</span> ` : null}<bdi>${part.title}</bdi>${status ? html`<span class="unseen">, ${WORDS[status] ?? status}</span>` : null}`;
  const counter = part.counter ? html` <span class="counter">${part.counter}</span>` : null;
  const canFold = part.row && part.row.kind !== "round" && onFold;
  return html`
    <li class=${`frame ${status ?? ""}`} style=${place(part)}>
      ${canFold
        ? html`<button type="button" class="title" aria-expanded="true" onClick=${() => onFold(part.key, true)}><span aria-hidden="true">▾ </span>${words}${counter}</button>`
        : html`<span class="title">${words}${counter}</span>`}
      ${part.loops ? html`<span class="again" aria-hidden="true">again</span>` : null}
    </li>
  `;
};

// `item`: what to draw (shapes.js). `took(row)`: seconds of a row. `onOpen(row)`, `onFold(key, isFolded, row)`.
export class Graph extends Component {
  constructor(props) {
    super(props);
    this.phone = matchMedia(PHONE);
    this.state = { zoom: null, isPhone: this.phone.matches };
    this.turn = () => this.setState({ isPhone: this.phone.matches });
  }

  componentDidMount() {
    this.phone.addEventListener("change", this.turn);
    this.fit();
  }

  componentWillUnmount() {
    this.phone.removeEventListener("change", this.turn);
  }

  // As large as fits, but never larger than it is.
  fit() {
    const room = this.around?.clientWidth ?? 0;
    const { w } = this.drawn ?? {};
    if (room && w) this.setState({ zoom: Math.min(1, (room - 40) / w) });
  }

  step(by) {
    const now = this.state.zoom ?? 1;
    const next = by > 0 ? ZOOMS.find((one) => one > now + 0.01) : ZOOMS.findLast((one) => one < now - 0.01);
    if (next) this.setState({ zoom: next });
  }

  render({ item, took, here, onOpen, onFold, label, children }, { zoom, isPhone }) {
    const drawn = (this.drawn = layout(item, { isPhone }));
    const scale = zoom ?? 1;
    return html`
      <div class="graph-tools">
        ${children}
        <span class="tools">
          <button type="button" onClick=${() => this.fit()}>fit</button>
          <button type="button" aria-label="larger" onClick=${() => this.step(1)}>+</button>
          <button type="button" aria-label="smaller" onClick=${() => this.step(-1)}>−</button>
        </span>
      </div>
      <div class="graph" tabindex="0" role="region" aria-label=${label ?? "Graph"} ref=${(element) => (this.around = element)}>
        <div class="sheet" style=${{ width: `${drawn.w * scale}px`, height: `${drawn.h * scale}px` }}>
          <div class="drawing" style=${{ width: `${drawn.w}px`, height: `${drawn.h}px`, transform: `scale(${scale})` }}>
            <svg aria-hidden="true" width=${drawn.w} height=${drawn.h} viewBox=${`0 0 ${drawn.w} ${drawn.h}`}>
              <defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" /></marker></defs>
              ${drawn.lines.map((line, index) => html`<path key=${index} class=${line.kind} d=${pathOf(line)} marker-end=${line.kind === "plain" ? undefined : "url(#arrow)"} />`)}
            </svg>
            <ol>
              ${drawn.parts.map((part) => part.type === "card"
                ? html`<${Card} key=${part.key} part=${part} took=${took} here=${here} onOpen=${onOpen} onFold=${onFold} />`
                : html`<${Frame} key=${`frame ${part.key}`} part=${part} onFold=${onFold} />`)}
            </ol>
          </div>
        </div>
      </div>
    `;
  }
}
