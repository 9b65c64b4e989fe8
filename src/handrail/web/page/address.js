// What a view shows, kept in the query of its address: reload, back and a copied address show the same.
import { ask } from "./routes.js";

export const inQuery = (name) => new URLSearchParams(location.search).get(name);

// Change the query; null removes a name. A step back in the history leads to the query before, unless it is replaced.
export const changeQuery = (changes, isReplaced = false) => ask(changes, isReplaced ? "replace" : "push");

const withQuery = (changes) => {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value == null || value === "") query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  return location.pathname + (text ? `?${text}` : "");
};

// What a link needs to change the query without loading the page again.
export const toQuery = (changes) => ({
  href: withQuery(changes),
  onClick: (event) => {
    if (event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    changeQuery(changes);
  },
});
