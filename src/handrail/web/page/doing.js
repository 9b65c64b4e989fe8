// Asks the server. Returns its answer, or throws an error with a sentence, a hint and the fields that are wrong.

export class Refused extends Error {
  constructor(told, status) {
    super(told.message ?? "The server did not answer as expected.");
    this.code = told.code;
    this.hint = told.hint;
    this.fields = told.fields ?? [];
    this.status = status;
  }
}

const ask = async (path, how) => {
  let answer;
  try {
    answer = await fetch(path, how);
  } catch {
    throw new Refused({ message: "The server cannot be reached. What you typed is still here." }, 0);
  }
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(told.error ?? {}, answer.status);
  return told;
};

// The questions of a run or a session. An answer that the server has taken counts at once: the process of the run reads it
// some seconds later. If it has not by then, the question is shown again.
const TAKEN = 30_000;
const answers = new Map();
const answerOf = (of, id) => {
  const sent = answers.get(`${of} ${id}`);
  return sent && Date.now() - sent.at < TAKEN ? { verdict: sent.verdict, at: sent.at / 1000 } : null;
};

export const needsOf = (received, of) =>
  received.rows("needs").map((need) => ({ ...need, sent: need.answered ? null : answerOf(of, need.id) }))
    .map((need) => ({ ...need, answered: need.answered ?? need.sent }));

// The same for a row of home.
export const withAnswer = (row) =>
  row.need && (row.need.count ?? 1) < 2 && answerOf(row.id, row.need.id) ? { ...row, need: null, group: "running", status: "running", doing: "answered" } : row;

export const answer = async (of, need, values) => {
  await post(`/api/needs/${encodeURIComponent(need.id)}`, { of, digest: need.digest, values });
  answers.set(`${of} ${need.id}`, { at: Date.now(), verdict: values.approved === undefined ? "answered" : values.approved ? "approved" : "rejected" });
};

export const get = (path) => ask(path, { headers: { accept: "application/json" } });

export const post = (path, body) =>
  ask(path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-handrail": "1" },
    body: JSON.stringify(body),
  });
