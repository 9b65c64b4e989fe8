// What a graph shows: rows of a run (or of a definition: the same rows, all pending) or the phases of a session, as the
// items of graph.js. Pure.

export const MANY = 400; // with more cards than this, frames start folded
const HAS_NOT_RUN = new Set(["pending", "skipped", "ahead"]);

export const childrenOf = (rows) => {
  const below = new Map();
  for (const row of [...rows].sort((a, b) => a.order - b.order)) {
    const parent = row.parent ?? "";
    if (!below.has(parent)) below.set(parent, []);
    below.get(parent).push(row);
  }
  return below;
};

const hasRun = (row) => !HAS_NOT_RUN.has(row.status);

// The row that stands for all rounds of a step: the last one that ran.
const latest = (rows) => rows.findLast(hasRun) ?? rows.find((row) => row.status === "skipped") ?? rows[0];

// Rows with the same name below the same parents are one step as written.
const groupsOf = (rows) => {
  const found = new Map();
  for (const row of rows) {
    const key = `${row.kind}:${row.name}`;
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(row);
  }
  return [...found.entries()];
};

class Shapes {
  // `isFolded(key, first)`: whether a frame is folded; `first` is what it is before anybody touched it.
  constructor(below, isAsItRan, isFolded) {
    this.below = below;
    this.isAsItRan = isAsItRan;
    this.isFolded = isFolded;
  }

  under(rows) {
    return rows.flatMap((row) => this.below.get(row.id) ?? []);
  }

  laneOf(row) {
    if (row.lane) return row.lane;
    const lanes = (this.below.get(row.id) ?? []).map((child) => (child.kind === "step" ? null : this.laneOf(child)));
    const isOne = lanes.length && lanes.every((lane) => lane && String(lane) === String(lanes[0]));
    return isOne ? lanes[0] : null;
  }

  // Items for rows next to each other: lanes of one group are stacked, everything else is one after the other.
  series(rows, above) {
    const items = [];
    let lanes = null;
    for (const [name, group] of groupsOf(rows)) {
      const item = this.item(group, `${above}/${name}`);
      const lane = this.laneOf(group[0]);
      if (!lane) {
        lanes = null;
        items.push(item);
      } else if (lanes?.group === lane[0]) {
        (lanes.of[lane[1]] ??= []).push(item);
      } else {
        lanes = { type: "stack", key: `${above}/lanes ${lane[0]}`, group: lane[0], of: [] };
        lanes.of[lane[1]] = [item];
        items.push(lanes);
      }
    }
    for (const item of items) {
      if (item.of) item.items = Object.values(item.of).map((list) => single(list) ?? { type: "series", items: list });
    }
    return { type: "series", items };
  }

  steps(rows, above) {
    const inside = this.series(this.under(rows), above);
    return rows[0].together > 1 ? { ...inside, type: "stack", key: above } : inside;
  }

  item(group, key) {
    const row = latest(group);
    const id = this.isAsItRan ? row.id : key;
    if (row.kind === "repeat") return this.repeat(group, row, id);
    const inside = this.under(group);
    if (row.kind === "phase") {
      if (inside.length && groupsOf(inside).length === 1) return this.item(inside, `${key}/only`);
      return this.frame(group, row, id, inside.length > 0, false, () => this.steps(group, id));
    }
    return this.frame(group, row, id, inside.length > 0, true, () => this.series(inside, id));
  }

  frame(group, row, key, hasMore, startsFolded, inside) {
    const ran = group.filter(hasRun).length;
    const isUnopened = !hasMore && row.kind === "phase" && row.children > 0; // its steps are fetched when it is opened
    const card = { type: "card", key, row, ran, of: group.length, isFolded: isUnopened };
    if (!hasMore) return card;
    if (this.isFolded(key, startsFolded)) return { ...card, isFolded: true };
    return { type: "frame", key, row, title: row.name, inside: inside() };
  }

  repeat(group, row, key) {
    const rounds = this.under(group);
    const begun = Math.max(...group.map((one) => one.begun ?? 0));
    const counter = `↻ ${begun} of ${row.rounds ?? "?"}`;
    if (this.isFolded(key, false)) {
      return { type: "card", key, row, ran: group.filter(hasRun).length, of: group.length, counter, isFolded: true };
    }
    const inside = this.isAsItRan ? this.rounds(rounds, key) : this.body(rounds, key);
    return { type: "frame", key, row, title: row.name, counter, inside, loops: !this.isAsItRan };
  }

  // The phases of all rounds, each once. A single phase needs no frame of its own.
  body(rounds, key) {
    const phases = this.under(rounds);
    const isSingle = groupsOf(phases).length === 1 && phases[0].kind === "phase" && this.under(phases).length;
    return isSingle ? this.steps(phases, `${key}/only`) : this.series(phases, key);
  }

  rounds(rounds, key) {
    const begun = rounds.filter(hasRun);
    const shown = begun.length ? begun : rounds.slice(0, 1);
    const items = shown.map((round) => {
      const inside = this.body([round], round.id);
      return { type: "frame", key: round.id, row: round, title: round.name, inside };
    });
    const lanes = new Set(shown.map((round) => String(this.laneOf(round))));
    const isParallel = shown.length > 1 && lanes.size === shown.length && !lanes.has("null");
    return isParallel ? { type: "stack", key, items } : { type: "series", items, down: true };
  }
}

const single = (list) => (list.length === 1 ? list[0] : null);

const countCards = (item) => {
  if (item.type === "card") return 1;
  return item.type === "frame" ? countCards(item.inside) : item.items.reduce((sum, one) => sum + countCards(one), 0);
};

// The graph of a run or of a flow. `mode`: "folded" (each step once) or "ran" (each round by itself). `touched` has
// the frames that a person folded (true) or unfolded (false), by key.
export const graphOf = (rows, { mode = "folded", touched = {} } = {}) => {
  const below = childrenOf(rows);
  const top = below.get("") ?? [];
  const made = (isMany) =>
    new Shapes(below, mode === "ran", (key, first) => touched[key] ?? (first || isMany)).series(top, "");
  const item = made(false);
  return countCards(item) > MANY ? made(true) : item;
};

// The graph of a session, or of a workflow: phases with `levels` ([name, number, of how many]; the outermost is the
// workflow itself). Nested workflows are frames.
export const graphOfStops = (stops) => {
  const top = { type: "series", items: [] };
  const open = [];
  for (const stop of [...stops].sort((a, b) => a.order - b.order)) {
    const levels = stop.levels.slice(1);
    const steps = levels.map(([name], depth) => `${stop.levels[depth][1]}:${name}`);
    const paths = levels.map((_, depth) => steps.slice(0, depth + 1).join("/"));
    while (open.length && open.at(-1).key !== paths[open.length - 1]) open.pop();
    for (let depth = open.length; depth < levels.length; depth += 1) {
      const frame = { type: "frame", key: paths[depth], title: levels[depth][0], loops: false, inside: { type: "series", items: [] } };
      (open.at(-1)?.inside ?? top).items.push(frame);
      open.push(frame);
    }
    if (open.length && stop.loopable) open.at(-1).loops = true;
    const row = { ...stop, status: stop.state ?? "ahead", kind: "phase" };
    (open.at(-1)?.inside ?? top).items.push({ type: "card", key: String(stop.id ?? stop.order), row, ran: stop.visits ?? 0, of: 1 });
  }
  return top;
};
