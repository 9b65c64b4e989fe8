// Asks the server to do something. Returns its answer, or throws an error with a sentence, a hint and wrong fields.

export class Refused extends Error {
  constructor(told, status) {
    super(told.message ?? "The server did not answer.");
    this.hint = told.hint;
    this.fields = told.fields ?? [];
    this.status = status;
  }
}

export const post = async (path, body) => {
  let answer;
  try {
    answer = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json", "x-handrail": "1" },
      body: JSON.stringify(body),
    });
  } catch {
    throw new Refused({ message: "The server cannot be reached. What you typed is still here." }, 0);
  }
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(told.error ?? {}, answer.status);
  return told;
};
