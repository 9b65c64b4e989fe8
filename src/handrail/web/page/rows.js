// The rows of a topic as a receiver has them. The same rules as `handrail.view.rows.rows.ReceivedRows`.

const MOST_LINES = 2000;

export class Received {
  constructor() {
    this.forget("");
    this.tail = { seq: 0, lost: 0, rows: [] }; // has numbers of its own: a run that is resumed goes on with them
  }

  forget(epoch) {
    this.epoch = epoch;
    this.seq = 0;
    this.sections = new Map();
    this.isWhole = false;
  }

  // Where this is, for the server: epoch, number of the last event, number of the last line of the tail.
  get cursor() {
    return this.epoch && `${this.epoch}/${this.seq}${this.tail.seq ? `/${this.tail.seq}` : ""}`;
  }

  rows(section) {
    return [...(this.sections.get(section) ?? new Map()).values()];
  }

  row(section, id) {
    return this.sections.get(section)?.get(id);
  }

  get head() {
    return this.row("head", "");
  }

  // False if the message does not continue what is known: then ask again.
  take(message) {
    if (message.base === 0 && message.part === 0) {
      this.forget(message.epoch);
    } else if (message.epoch !== this.epoch || message.seq < this.seq) {
      this.forget("");
      return false;
    }
    if (message.base > this.seq) return false;
    for (const [section, value] of Object.entries(message.set)) {
      for (const row of section === "head" ? [value] : value) this.section(section).set(row.id, row);
    }
    for (const [section, ids] of Object.entries(message.gone)) {
      for (const id of ids) this.section(section).delete(id);
    }
    if (message.tail) this.takeTail(message.tail);
    if (!message.more) this.seq = message.seq;
    this.isWhole = !message.more;
    return true;
  }

  // The last lines of output. They have numbers of their own; those that were left out are counted.
  takeTail({ base, seq, lost, rows }) {
    const known = base > 0 && base <= this.tail.seq ? this.tail : { seq: 0, lost: 0, rows: [] };
    const added = rows.filter((row) => row.n > known.seq);
    this.tail = { seq, lost: known.lost + (lost ?? 0), rows: [...known.rows, ...added].slice(-MOST_LINES) };
  }

  section(name) {
    if (!this.sections.has(name)) this.sections.set(name, new Map());
    return this.sections.get(name);
  }
}
