// What a view shows, kept in the query of its address: reload, back and a copied address show the same.

export const inQuery = (name) => new URLSearchParams(location.search).get(name);

// The address of this page with another query; null removes a name.
export const withQuery = (changes) => {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value == null || value === "") query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  return text ? `?${text}` : location.pathname;
};

export const changeQuery = (changes, isReplaced = false) => {
  history[isReplaced ? "replaceState" : "pushState"](null, "", withQuery(changes));
  dispatchEvent(new Event("query"));
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

export const onQuery = (listener) => {
  addEventListener("query", listener);
  addEventListener("popstate", listener);
  return () => {
    removeEventListener("query", listener);
    removeEventListener("popstate", listener);
  };
};
