// A question above the page. Esc only closes it, and the focus goes back to where it was.
import { Component, bdi, html } from "./dom.js";

export class Dialog extends Component {
  componentDidMount() {
    this.opener = document.activeElement;
    this.element.showModal();
    this.element.querySelector("h2")?.focus();
  }

  componentWillUnmount() {
    this.element.close();
    if (this.opener?.isConnected) this.opener.focus();
  }

  render({ title, onClose, children }) {
    return html`
      <dialog aria-labelledby="dialog-title" ref=${(element) => (this.element = element ?? this.element)}
        onCancel=${(event) => { event.preventDefault(); onClose(); }}>
        <h2 id="dialog-title" tabindex="-1">${bdi(title)}</h2>
        ${children}
      </dialog>
    `;
  }
}

export const Problem = ({ error }) =>
  error ? html`<p role="alert" class="error">✗ ${bdi(error.message)} ${error.hint ? html`<span class="hint">${bdi(error.hint)}</span>` : null}</p>` : null;
