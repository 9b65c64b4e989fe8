// Which view an address shows, and which topics it needs. The rest of the state is in the query.

const PLACES = { runs: "run", sessions: "session", needs: "need", artifacts: "artifact" };

export const route = ({ pathname, search }) => {
  const [, first, ...rest] = pathname.split("/").map(decodeURIComponent);
  const query = new URLSearchParams(search);
  const found = { view: "home", id: rest.join("/"), query, topics: ["home"] };
  if (first === "catalog" || first === "launch") {
    const [kind, ...id] = rest;
    const view = first === "launch" ? (kind ? "launch" : "choose") : kind ? "definition" : "catalog";
    return { ...found, view, kind, id: id.join("/"), topics: view === "launch" ? ["home"] : ["home", "catalog"] };
  }
  if (!PLACES[first] || !found.id) return found;
  const view = PLACES[first];
  const topic = view === "need" ? query.get("of") : view === "artifact" ? null : `${view}:${found.id}`;
  return { ...found, view, topic, topics: topic ? ["home", topic] : ["home"] };
};

const enc = encodeURIComponent;

// "run:r-1" → "/runs/r-1"
export const addressOf = (topic) => {
  const [kind, ...id] = topic.split(":");
  return `/${kind}s/${enc(id.join(":"))}`;
};

export const needAddress = (topic, id) => `/needs/${enc(id ?? "next")}?of=${enc(topic)}`;
export const catalogAddress = (kind, id) => `/catalog/${enc(kind)}/${enc(id)}`;
export const launchAddress = (kind, id) => `/launch/${enc(kind)}/${enc(id)}`;

// Go to another address without loading the page again.
export const go = (href, how = "push") => {
  history[how === "replace" ? "replaceState" : "pushState"](null, "", href);
  dispatchEvent(new PopStateEvent("popstate"));
};

// Change the query of this address; null removes a name.
export const ask = (changes, how = "replace") => {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) value == null || value === "" ? query.delete(name) : query.set(name, value);
  const text = query.toString();
  go(location.pathname + (text ? `?${text}` : ""), how);
};
