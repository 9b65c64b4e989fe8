// When everything happened, as places on one line of time. Pure.
//
// Times in which no step worked for more than 30 seconds shrink to a small gap, because nothing happens there.

export const IDLE = 30;
const GAP = 0.06;
const STEPS = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400];

// Overlapping stretches of time as one.
export const united = (spans) => {
  const found = [];
  for (const [from, to] of [...spans].sort((a, b) => a[0] - b[0])) {
    const last = found.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else found.push([from, to]);
  }
  return found;
};

const lengthOf = (spans) => spans.reduce((sum, [from, to]) => sum + to - from, 0);

// The steps of a phase that nobody opened are not known: its time is one bar.
const isUnopened = (row, outline) => row.kind === "phase" && row.started != null && row.children > 0 && !outline.below.has(row.id);
const wholeBar = (row) => ({
  id: `${row.id}#whole`, v: row.v, node: row.id, kind: "work", try: 1, from: row.started, to: row.ended, end: null,
});

// The bars of a run by row, made once per message.
export class Spans {
  constructor(known, outline) {
    const bars = [...known, ...outline.rows.filter((row) => isUnopened(row, outline)).map(wholeBar)];
    this.all = bars;
    this.byRow = new Map();
    this.versions = new Map();
    for (const bar of bars) {
      this.add("", bar);
      this.add(bar.node, bar);
      for (const parent of outline.ancestors(bar.node)) this.add(parent.id, bar);
    }
    for (const list of this.byRow.values()) list.sort((a, b) => a.from - b.from);
  }

  add(id, bar) {
    if (!this.byRow.has(id)) this.byRow.set(id, []);
    this.byRow.get(id).push(bar);
    this.versions.set(id, Math.max(this.versions.get(id) ?? 0, bar.v));
  }

  // The version of the bars of a row.
  version(id) {
    return this.versions.get(id) ?? 0;
  }

  of(id) {
    return this.byRow.get(id) ?? [];
  }

  // Seconds in which something below a row worked. Null if nothing did, or if it is not known.
  worked(row, end) {
    const work = this.of(row.id).filter((bar) => bar.kind === "work");
    if (work.length) return lengthOf(united(work.map((bar) => [bar.from, bar.to ?? end])));
    return row.worked ?? null;
  }

  // For how long a person has been asked.
  waits(row, end) {
    const asked = this.of(row.id).find((bar) => bar.kind === "asked" && bar.to == null);
    return asked ? end - asked.from : null;
  }

  // The first and the last moment that are known; null without bars.
  first() {
    return this.all.reduce((least, bar) => (least == null || bar.from < least ? bar.from : least), null);
  }

  last() {
    return this.all.reduce((most, bar) => Math.max(most ?? 0, bar.to ?? bar.from), null);
  }
}

// A line of time from `from` to `to`. `x(t)` is a place from 0 to 100; `gaps` and `ticks` have places, too.
export const scaleOf = (bars, { from, to, isShrunk = true, isOpen = false }) => {
  const busy = united(bars.filter((bar) => bar.kind === "work").map((bar) => [bar.from, bar.to ?? to]));
  const idle = [];
  if (isShrunk) {
    let at = from;
    for (const [begin, end] of [...busy, [to, to]]) {
      if (begin - at > IDLE) idle.push([at, begin]);
      at = Math.max(at, end);
    }
  }
  const active = Math.max(to - from - lengthOf(idle), 0.001);
  const step = STEPS.find((one) => active / one <= 6) ?? STEPS.at(-1);
  const shown = isOpen ? Math.ceil((active * 1.02) / step) * step : active;
  const gap = idle.length ? Math.min(GAP, 0.4 / idle.length) : 0;
  const unit = (1 - gap * idle.length) / shown;
  const x = (time) => {
    let place = Math.max(0, time - from) * unit;
    for (const [begin, end] of idle) {
      if (time <= begin) break;
      const part = (Math.min(time, end) - begin) / (end - begin);
      place += part * gap - (Math.min(time, end) - begin) * unit;
    }
    return Math.min(100, place * 100);
  };
  const gaps = idle.map(([begin, end]) => ({ x: x(begin), w: gap * 100, seconds: end - begin }));
  const key = [from, shown.toFixed(3), ...idle.map(([begin]) => begin)].join("/"); // equal keys: equal places
  return { x, gaps, ticks: ticksOf(step, shown, unit, idle, gap, from), key };
};

// Marks at whole steps of the time in which something happened.
const ticksOf = (step, shown, unit, idle, gap, from) => {
  const found = [];
  for (let count = 0; count * step <= shown; count += 1) {
    const seconds = Number((count * step).toFixed(2));
    let before = 0;
    let passed = 0;
    for (const [begin, end] of idle) {
      if (begin - from - passed > seconds) break;
      before += gap;
      passed += end - begin;
    }
    found.push({ x: (seconds * unit + (seconds ? before : 0)) * 100, seconds });
  }
  return found;
};
