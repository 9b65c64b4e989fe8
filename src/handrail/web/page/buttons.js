// What can be done with a run. Stopping and restarting ask first.
import { Component, html } from "./dom.js";
import { post } from "./doing.js";

const WORDS = { resume: "Resume", continue: "Continue", restart: "Restart…", stop: "Stop…" };
const ASKS = {
  stop: "Stop this run and every process that it started? It can be resumed.",
  restart: "Start this run again with the current definitions? Files that it made are removed; a copy is kept.",
};

export class Buttons extends Component {
  constructor(props) {
    super(props);
    this.state = { asked: null, error: null, isSending: false };
  }

  async doIt(action) {
    this.setState({ asked: null, error: null, isSending: true });
    try {
      await post(`/api/run/${encodeURIComponent(this.props.run)}/${action}`, {});
    } catch (error) {
      this.setState({ error });
    }
    this.setState({ isSending: false });
  }

  render({ actions }, { asked, error, isSending }) {
    return html`
      <p class="buttons">
        ${actions.map((action) => html`
          <button key=${action} disabled=${isSending}
            onClick=${() => (ASKS[action] ? this.setState({ asked: action }) : this.doIt(action))}>${WORDS[action]}</button>
        `)}
      </p>
      ${asked ? html`
        <div role="group" class="need" aria-label=${ASKS[asked]}>
          <p>${ASKS[asked]}</p>
          <button onClick=${() => this.doIt(asked)}>${WORDS[asked].replace("…", "")}</button>
          <button onClick=${() => this.setState({ asked: null })}>Leave it as it is</button>
        </div>
      ` : null}
      ${error ? html`<p role="alert" class="error"><bdi>${error.message}</bdi> <bdi>${error.hint ?? ""}</bdi></p>` : null}
    `;
  }
}
