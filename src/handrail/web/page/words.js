// Signs, times and costs as people read them. The same words as in the terminal.

export const SIGNS = {
  needs: "?", waiting: "?", running: "●", active: "●", delayed: "~", completed: "✓", done: "✓", failed: "✗",
  damaged: "✗", stopped: "■", cancelled: "■", skipped: "·", pending: "○", ahead: "○", current: "●", interrupted: "!",
};

export const WORDS = {
  waiting: "waits for you", running: "running", active: "active", delayed: "delayed", completed: "done", done: "done",
  failed: "failed", damaged: "cannot be read", stopped: "stopped", cancelled: "cancelled", skipped: "skipped",
  pending: "pending", ahead: "ahead", current: "here", interrupted: "interrupted",
};

export const duration = (seconds) => {
  if (seconds == null) return "–";
  const whole = Math.max(0, Math.floor(seconds));
  const two = (number) => String(number).padStart(2, "0");
  if (whole < 10) return `${Math.max(0, seconds).toFixed(1)}s`;
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${two(whole % 60)}s`;
  return `${Math.floor(whole / 3600)}h ${two(Math.floor((whole % 3600) / 60))}m`;
};

export const time = (seconds) =>
  seconds == null ? "–" : new Date(seconds * 1000).toLocaleTimeString([], { hour12: false });

// A cost is known, partly known or unknown. It is never shown as zero when it is not known.
export const cost = (usage) => {
  if (!usage || usage.usd == null) return "–";
  const text = usage.usd < 0.005 && usage.usd > 0 ? "<$0.01" : `$${usage.usd.toFixed(2)}`;
  return usage.complete === false ? `≥${text}` : text;
};

export const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
