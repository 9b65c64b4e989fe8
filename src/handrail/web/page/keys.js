// Single keys. One table: the help dialog is made from it. A key presses the element that names it in
// `aria-keyshortcuts`, first in the content and then in the header, so a key works exactly where such an element is.
import { Dialog } from "./dialog.js";
import { html, remembered } from "./dom.js";

export const KEYS = [
  ["n", "launch"],
  ["c", "catalog"],
  ["a", "answer what waits here, else the oldest question"],
  ["r", "resume, continue or restart…"],
  ["s", "stop…"],
  ["/", "find"],
  ["f", "follow the tail"],
  ...[1, 2, 3, 4, 5, 6, 7, 8].map((number) => [String(number), `view ${number}`]),
  ["[", "previous run"],
  ["]", "next run"],
  ["b", "back"],
  ["?", "the keys of this page"],
];

export const areKeysOn = () => remembered.get("keys") !== "off";
export const switchKeys = (on) => remembered.set("keys", on ? "on" : "off");

// What is done with a row of a list is done with the row that has the focus, and with no other one. `a` only opens a page.
const targetOf = (key) => {
  const name = `[aria-keyshortcuts="${key}"]`;
  const row = document.activeElement?.closest(".entry");
  const found = [...(row?.querySelectorAll(name) ?? []), ...document.querySelectorAll(`main ${name}`), ...document.querySelectorAll(name)];
  return found.find((element) => !element.disabled && (key === "a" || [row, null].includes(element.closest(".entry"))));
};

const isTyping = (element) =>
  element.closest?.("input:not([type=checkbox]):not([type=radio]), textarea, select, dialog, [contenteditable]");

export const press = (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (!KEYS.some(([key]) => key === event.key) || !areKeysOn() || isTyping(event.target)) return;
  const target = targetOf(event.key);
  if (!target) return;
  event.preventDefault();
  target.matches("input:not([type=checkbox]), select") ? target.focus() : target.click();
};

export const Help = ({ onClose }) => html`
  <${Dialog} title="Keys of this page" onClose=${onClose}>
    <dl class="keys">
      ${KEYS.filter(([key]) => targetOf(key)).map(([key, text]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${text}</dd></div>`)}
      <div><dt><kbd>Tab</kbd></dt><dd>next link, field or button</dd></div>
      <div><dt><kbd>Esc</kbd></dt><dd>close what is open</dd></div>
    </dl>
    <p><label><input type="checkbox" checked=${areKeysOn()} onChange=${(e) => switchKeys(e.target.checked)} /> single keys work in this browser</label></p>
    <p class="buttons"><button onClick=${onClose}>Close</button></p>
  <//>
`;
