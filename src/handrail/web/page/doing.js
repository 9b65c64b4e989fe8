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

export const get = (path) => ask(path, { headers: { accept: "application/json" } });

export const post = (path, body) =>
  ask(path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-handrail": "1" },
    body: JSON.stringify(body),
  });
