// Elements from templates, without a build step. Text of others is always in a <bdi>, and never markup.
import { Component, h, render } from "./vendor/preact.js";
import htm from "./vendor/htm.js";

const html = htm.bind(h);
export { Component, html, render };

export const bdi = (text) => html`<bdi>${text}</bdi>`;

// Why nothing can be done in this page; empty if it can.
export const readOnly = document.body?.dataset.readOnly ?? "";

// What the browser remembers for this page. A browser that forbids it remembers nothing.
const guarded = (work) => {
  try {
    return work();
  } catch {
    return null;
  }
};
const kept = (store) => ({
  get: (name) => guarded(() => JSON.parse(store().getItem(`handrail.${name}`))),
  set: (name, value) => guarded(() => store().setItem(`handrail.${name}`, JSON.stringify(value))),
  drop: (name) => guarded(() => store().removeItem(`handrail.${name}`)),
});
export const remembered = kept(() => localStorage);
export const draft = kept(() => sessionStorage); // until the tab is closed
