// What changed on home, in words: for the status line, and as desktop notifications if the person wants them.
import { post } from "./doing.js";
import { readOnly, remembered } from "./dom.js";
import { WORDS } from "./words.js";

const LONG_RUN = 60;
const MOST = 120;
const SETTLED = 10_000;

export const wantsNotes = () => remembered.get("notify") === true && globalThis.Notification?.permission === "granted";

export const askForNotes = async () => {
  const answer = globalThis.Notification ? await Notification.requestPermission() : "denied";
  remembered.set("notify", answer === "granted");
  return answer === "granted";
};

export const stopNotes = () => remembered.set("notify", false);

export const launchedHere = (run) => remembered.set("launched", [run, ...(remembered.get("launched") ?? [])].slice(0, 100));

const titleOf = (row) => row.need?.title ?? row.why?.message ?? row.why ?? WORDS[row.status] ?? row.status;

export class News {
  constructor() {
    this.known = null;
  }

  // The sentences for what changed since the last call.
  take(rows) {
    const before = this.known;
    this.rows = rows;
    this.known = new Map(rows.map((row) => [row.id, `${row.status} ${row.group} ${row.need?.title ?? ""}`]));
    if (!before) return [];
    return rows.filter((row) => before.get(row.id) !== this.known.get(row.id)).map((row) => {
      const isNeed = row.group === "needs";
      const isEnd = row.group === "recent" && (remembered.get("launched") ?? []).includes(row.id.slice(4));
      if (row.status === "interrupted") this.showLater(row);
      else if (isNeed || (isEnd && row.ended - row.started > LONG_RUN)) this.show(row);
      return isNeed && row.need ? `${row.name} waits for you: ${row.need.title}` : `${row.name}: ${WORDS[row.status] ?? row.status}`;
    });
  }

  // A run has no process for a moment after its launch, too.
  showLater(row) {
    setTimeout(() => this.rows.some((one) => one.id === row.id && one.status === row.status) && this.show(row), SETTLED);
  }

  // A question is told once, by whichever process is the first. Of the rest, the tag makes one notification of all tabs.
  async show(row) {
    if (!wantsNotes() || document.visibilityState === "visible") return;
    const claim = row.need?.id && !readOnly && post("/api/told", { of: row.id, need: row.need.id });
    if (claim && !(await claim.catch(() => ({}))).isFirst) return;
    new Notification(row.name.slice(0, MOST), { body: titleOf(row).slice(0, MOST), tag: `${row.id} ${titleOf(row)}` });
  }
}
