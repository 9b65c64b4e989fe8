// The rows of a run as a list of lines, and what is said about a row. Pure.
import { brief, duration, WORDS } from "./words.js";
import { childrenOf } from "./shapes.js";

const OVER = new Set(["done", "skipped"]);

// What is known about the tree of a run, made once per message.
export class Outline {
  constructor(rows, isInterrupted) {
    this.rows = isInterrupted ? rows.map(interrupted) : rows;
    this.byId = new Map(this.rows.map((row) => [row.id, row]));
    this.below = childrenOf(this.rows);
  }

  hasMore(row) {
    return this.below.has(row.id) || (row.kind !== "step" && row.children > 0);
  }

  ancestors(id) {
    const found = [];
    for (let row = this.byId.get(id); row?.parent; row = this.byId.get(row.parent)) {
      const parent = this.byId.get(row.parent);
      if (parent) found.unshift(parent);
    }
    return found;
  }

  // "review › 2 › look"
  words(id) {
    const row = this.byId.get(id);
    if (!row) return id;
    const names = [];
    for (const one of [...this.ancestors(id), row]) {
      const name = one.kind === "round" ? one.name.replace(/^round /, "") : one.name;
      const isRepeat = one.kind === "phase" && one !== row && this.isOnly(one);
      if (!isRepeat) names.push(name);
    }
    return names.join(" › ");
  }

  isOnly(row) {
    return row.parent.startsWith("~") && this.below.get(row.parent)?.length === 1;
  }

  // The only phase of a round: it has no line of its own.
  only(row) {
    const phases = row.kind === "round" ? this.below.get(row.id) : null;
    return phases?.length === 1 && phases[0].kind === "phase" ? phases[0] : null;
  }

  // The lines of the tree: `touched` has what a person folded (true) or unfolded (false).
  lines(touched, isDoneHidden) {
    const found = [];
    const walk = (parent, level) => {
      for (const row of this.below.get(parent) ?? []) {
        if (isDoneHidden && OVER.has(row.status)) continue;
        const inner = this.only(row) ?? row;
        const hasMore = this.hasMore(inner);
        const isFolded = hasMore && (touched[row.id] ?? (this.startsFolded(row) || this.startsFolded(inner)));
        found.push({ row, inner, level, hasMore, isFolded });
        if (hasMore && !isFolded) walk(inner.id, level + 1);
      }
    };
    walk("", 1);
    return found;
  }

  // Finished rounds and nested flows start folded, and so does what was not sent.
  startsFolded(row) {
    if (!this.below.has(row.id)) return true;
    return OVER.has(row.status) && (row.kind === "round" || row.kind === "step");
  }

  // Of a step that failed: the step of its nested flows that failed, the innermost one. Else the step itself.
  innermost(id) {
    const inside = this.rows.filter((row) => row.kind === "step" && row.status === "failed" && row.id.startsWith(`${id}/`));
    const depth = (path) => path.split("/").length;
    return inside.reduce((deepest, row) => (depth(row.id) > depth(deepest) ? row.id : deepest), id);
  }

  // Where a person wants to look first: the question, the failed step, the running step. None: the summary.
  firstPlace(head, needs) {
    const asked = needs.find((need) => !need.answered);
    if (asked) return asked.path;
    if (head.why?.path && this.byId.has(head.why.path)) return this.innermost(head.why.path);
    const steps = this.rows.filter((row) => row.kind === "step" && !this.below.has(row.id));
    for (const status of ["failed", "interrupted", "cancelled", "running", "delayed"]) {
      const found = steps.find((row) => row.status === status);
      if (found && head.status !== "completed") return found.id;
    }
    return null;
  }
}

// A step that worked when its process was killed does not look like one that works.
const interrupted = (row) =>
  row.status === "running" || row.status === "delayed" ? { ...row, status: "interrupted", v: -row.v } : row;

const COUNTED = [["tools", "tool"], ["denied", "denied"], ["retries", "retry"]];
export const countsOf = (counts) =>
  COUNTED.filter(([key]) => counts?.[key]).map(([key, word]) => {
    const count = counts[key];
    return key === "denied" ? `${count} denied` : `${count} ${count === 1 ? word : key}`;
  });

// What stands after the name of a row.
export const detail = (row, inner = row) => {
  if (row.status === "skipped") return inner.why?.message ?? row.note ?? WORDS.skipped;
  if (row.kind === "repeat") return `↻ ${row.begun ?? "–"} of ${row.rounds ?? "–"}`;
  if (row.why?.message && row.why.message !== row.status) return row.why.message;
  if (row.doing && (row.status === "running" || row.status === "delayed")) return row.doing;
  const what = row.flow ? `flow ${row.flow}` : row.node;
  return [["interrupted", "cancelled"].includes(row.status) && WORDS[row.status], row.who ?? what, ...countsOf(row.counts), row.note].filter(Boolean).join(" · ");
};

export const statusWord = (row) => WORDS[row.status] ?? row.status;

// How long a row worked. What waits says so: the time of a person is not the time of a step.
export const tookWords = (row, seconds, waits) => {
  if (row.status === "waiting" && waits != null) return `waits ${brief(waits)}`;
  return seconds == null ? "" : duration(seconds);
};
