// Elements from templates, without a build step.
import { Component, h, render } from "./vendor/preact.js";
import htm from "./vendor/htm.js";

const html = htm.bind(h);
export { Component, html, render };
