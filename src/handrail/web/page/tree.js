// The phases and steps of a run as a tree, with the line of time of each row. Only rows near the screen are in the page.
import { Axis, Bars, Legend } from "./bars.js";
import { Component, html } from "./dom.js";
import { detail, statusWord, tookWords } from "./outline.js";
import { cost, SIGNS } from "./words.js";

const ALL = 200; // up to so many lines, all are in the page
const AROUND = 40; // lines that are kept above and below the screen
const HEIGHT = 32; // of a line, until one can be measured

class Line extends Component {
  // `mark` has the versions of everything that the line shows.
  shouldComponentUpdate(next) {
    return next.mark !== this.props.mark;
  }

  render({ line, index, isAt, isHere, spans, scale, end, tree }) {
    const { row, inner, level, hasMore, isFolded } = line;
    const fold = hasMore ? (isFolded ? "▸" : "▾") : "";
    return html`
      <div
        id=${`node ${row.id}`} role="row" aria-level=${level} aria-rowindex=${index + 2}
        aria-expanded=${hasMore ? String(!isFolded) : undefined} aria-selected=${isHere ? "true" : undefined}
        tabindex=${isAt ? 0 : -1} class=${`line depth-${Math.min(level, 8)} ${row.kind} ${isHere ? "here" : ""}`}
        onKeyDown=${(event) => tree.key(event, line, index)} onClick=${() => tree.open(line)} onFocus=${() => tree.focused(row.id)}
      >
        <span role="gridcell" class="lead">
          <span class="fold" aria-hidden="true" onClick=${(event) => tree.fold(event, line)}>${fold}</span>
          <span class=${`sign ${row.status}`} aria-hidden="true">${SIGNS[row.status] ?? "·"}</span>
          <span class="name"><bdi>${row.name}</bdi></span>
          <span class="unseen"> ${statusWord(row)} </span>
          ${row.try > 1 ? html`<span class="try">try ${row.try}</span>` : null}
          <span class="what"><bdi>${detail(row, inner)}</bdi></span>
        </span>
        <span role="gridcell" class="figure">${tookWords(row, spans.worked(row, end), spans.waits(row, end))}</span>
        <span role="gridcell" class="figure">${row.status === "pending" || row.status === "skipped" ? "" : cost(row.usage)}</span>
        <span role="gridcell" class="time">
          <${Bars} row=${row} bars=${spans.of(row.id)} scale=${scale} end=${end} hasMore=${hasMore} onOpen=${tree.props.onOpen} />
        </span>
      </div>
    `;
  }
}

export class Tree extends Component {
  constructor(props) {
    super(props);
    this.state = { first: 0, many: Math.ceil(innerHeight / HEIGHT) }; // of many lines, first only those that are seen
    this.look = this.look.bind(this);
  }

  componentDidMount() {
    addEventListener("scroll", this.look, { passive: true });
    addEventListener("resize", this.look);
    this.show();
    requestAnimationFrame(() => setTimeout(this.look)); // when these are painted, those around them
  }

  componentDidUpdate(before) {
    if (before.lines.length !== this.props.lines.length) this.look();
    if (before.here !== this.props.here) this.show();
  }

  componentWillUnmount() {
    removeEventListener("scroll", this.look);
    removeEventListener("resize", this.look);
  }

  // Which lines are near the screen now.
  look() {
    if (!this.body || this.props.lines.length <= ALL) return;
    const height = this.height();
    const above = -this.body.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(above / height) - AROUND);
    const many = Math.ceil(innerHeight / height) + 2 * AROUND;
    if (first !== this.state.first || many !== this.state.many) this.setState({ first, many });
  }

  height() {
    return this.body.querySelector(".line")?.offsetHeight || HEIGHT;
  }

  // Bring the chosen line into view.
  show() {
    const index = this.props.lines.findIndex(({ row }) => row.id === this.props.here);
    if (index < 0) return;
    const found = document.getElementById(`node ${this.props.here}`);
    if (found) found.scrollIntoView({ block: "nearest" });
    else scrollTo(0, scrollY + this.body.getBoundingClientRect().top + (index - 5) * this.height());
  }

  open(line) {
    if (line.row.kind === "step") this.props.onOpen(line.row);
    else this.fold(null, line);
  }

  fold(event, { row, hasMore, isFolded }) {
    event?.stopPropagation();
    if (hasMore) this.props.onFold(row, !isFolded);
  }

  focused(id) {
    if (id !== this.state.at) this.setState({ at: id });
  }

  go(index) {
    const { lines } = this.props;
    const place = Math.max(0, Math.min(lines.length - 1, index));
    const id = lines[place].row.id;
    const isFar = lines.length > ALL && (place < this.state.first || place >= this.state.first + this.state.many);
    const first = isFar ? Math.max(0, place - AROUND) : this.state.first;
    this.setState({ at: id, first }, () => document.getElementById(`node ${id}`)?.focus());
  }

  key(event, line, index) {
    const { row, hasMore, isFolded } = line;
    const bars = [...event.currentTarget.querySelectorAll("button.bar")];
    const bar = bars.indexOf(event.target);
    const parent = () => this.props.lines.findLastIndex((one, place) => place < index && one.level < line.level);
    const keys = {
      ArrowDown: () => this.go(index + 1),
      ArrowUp: () => this.go(index - 1),
      PageDown: () => this.go(index + 15),
      PageUp: () => this.go(index - 15),
      Home: () => this.go(0),
      End: () => this.go(this.props.lines.length - 1),
      ArrowRight: () => (isFolded ? this.fold(null, line) : bars[bar + 1]?.focus()),
      ArrowLeft: () => {
        if (bar > 0) bars[bar - 1].focus();
        else if (bar === 0) this.go(index);
        else if (hasMore && !isFolded) this.fold(null, line);
        else if (parent() >= 0) this.go(parent());
      },
      Enter: () => (bar >= 0 ? event.target.click() : this.open(line)),
    };
    const doIt = event.ctrlKey || event.metaKey || event.altKey ? null : keys[event.key];
    if (!doIt) return;
    event.preventDefault();
    doIt();
  }

  // What a line shows, in one text: equal texts need no drawing.
  mark({ row, inner, level, isFolded }, index, at) {
    const { scale, spans, end, here } = this.props;
    const isMoving = row.status === "running" || row.status === "waiting" || row.status === "delayed";
    const clock = isMoving ? Math.floor(end) : 0;
    return [index, row.v, inner.v, row.status, spans.version(row.id), level, isFolded, row.id === at, row.id === here, scale?.key, clock].join(" ");
  }

  render({ lines, here, spans, scale, end }, { first, many, at }) {
    const isAll = lines.length <= ALL;
    const from = isAll ? 0 : Math.min(first, Math.max(0, lines.length - many));
    const shown = isAll ? lines : lines.slice(from, from + many);
    const ids = new Set(lines.map(({ row }) => row.id));
    const current = ids.has(at) ? at : ids.has(here) ? here : shown[0]?.row.id;
    const height = this.body ? this.height() : HEIGHT;
    const space = (count) => (count > 0 ? html`<div class="space" style=${{ height: `${count * height}px` }}></div>` : null);
    return html`
      <div role="treegrid" aria-label="Phases and steps" aria-rowcount=${lines.length + 1} class=${`grid ${isAll ? "" : "fixed"}`}>
        <div role="row" class="heads" aria-rowindex="1">
          <span role="columnheader">step</span><span role="columnheader" class="figure">took</span>
          <span role="columnheader" class="figure">cost</span>
          <span role="columnheader" class="time" aria-label="time"><${Axis} scale=${scale} /></span>
        </div>
        <div role="rowgroup" ref=${(element) => (this.body = element ?? this.body)}>
          ${space(from)}
          ${shown.map((line, place) => html`
            <${Line} key=${line.row.id} line=${line} index=${from + place} isAt=${line.row.id === current} isHere=${line.row.id === here}
              spans=${spans} scale=${scale} end=${end} tree=${this} mark=${this.mark(line, from + place, current)} />
          `)}
          ${space(lines.length - from - shown.length)}
        </div>
      </div>
      <${Legend} />
    `;
  }
}
