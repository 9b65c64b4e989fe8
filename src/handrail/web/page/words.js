// Signs, times and costs as people read them. The same words as in the terminal.

// The sign and the word of each status, as the server has them in one table for all surfaces.
const STATUSES = Object.entries(JSON.parse(document.body.dataset.statuses));
export const SIGNS = Object.fromEntries(STATUSES.map(([status, [sign]]) => [status, sign]));
export const WORDS = Object.fromEntries(STATUSES.map(([status, [, word]]) => [status, word]));

export const duration = (seconds) => {
  if (seconds == null) return "–";
  const whole = Math.max(0, Math.floor(seconds));
  const two = (number) => String(number).padStart(2, "0");
  if (whole < 10) return `${Math.max(0, seconds).toFixed(1)}s`;
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${two(whole % 60)}s`;
  return `${Math.floor(whole / 3600)}h ${two(Math.floor((whole % 3600) / 60))}m`;
};

export const clock = (date) => date.toLocaleTimeString([], { hour12: false });

export const time = (seconds) => (seconds == null ? "–" : clock(new Date(seconds * 1000)));

// Of today the time, else the day.
export const moment = (seconds, now) => {
  if (seconds == null) return "–";
  const date = new Date(seconds * 1000);
  const day = (of) => new Date(of * 1000).toDateString();
  if (day(seconds) === day(now)) return clock(date).slice(0, 5);
  return day(seconds) === day(now - 86400) ? "yesterday" : date.toLocaleDateString([], { day: "numeric", month: "short", year: "numeric" });
};

// How long ago, in one unit.
export const age = (seconds, now) => (seconds == null ? "–" : brief(now - seconds));

// A duration in one unit.
export const brief = (seconds) => {
  const past = Math.max(0, seconds);
  if (past < 60) return `${Math.floor(past)}s`;
  if (past < 3600) return `${Math.floor(past / 60)}m`;
  return past < 86400 ? `${Math.floor(past / 3600)}h` : `${Math.floor(past / 86400)}d`;
};

// A cost is known, partly known or unknown. It is never shown as zero when it is not known.
export const cost = (usage) => {
  if (!usage || usage.usd == null) return "–";
  const text = usage.usd < 0.005 && usage.usd > 0 ? "<$0.01" : `$${usage.usd.toFixed(2)}`;
  return usage.complete === false ? `≥${text}` : text;
};

export const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
