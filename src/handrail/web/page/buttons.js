// What can be done with a run: stop, resume, continue, restart. All of them ask first, in a dialog.
import { Dialog, Problem } from "./dialog.js";
import { post } from "./doing.js";
import { bdi, Component, html, readOnly } from "./dom.js";

const MODES = {
  resume: ["Resume", "Keeps the finished steps and goes on where it stopped."],
  continue: ["Continue", "Continues after its end, with the files that it made."],
  restart: ["Restart", "Starts again with the current definitions. Files that it made are removed; a copy is kept."],
};

// What a dialog acts on: its params or its task, and its id. Several runs may have one name.
export const Exactly = ({ about, id }) => html`<p class="exactly">${about ? html`${bdi(about)} · ` : null}<code>${bdi(id)}</code></p>`;

export class Buttons extends Component {
  constructor(props) {
    super(props);
    this.state = { asked: null, error: null, isSending: false, mode: null };
  }

  async doIt(action) {
    this.setState({ error: null, isSending: true });
    try {
      await post(`/api/runs/${encodeURIComponent(this.props.run)}/${action}`, {});
      this.setState({ asked: null });
    } catch (error) {
      this.setState({ error });
    }
    this.setState({ isSending: false });
  }

  stop({ name, about, run }, { error, isSending }) {
    return html`
      <${Dialog} title=${`Stop ${name ?? "this run"}?`} onClose=${() => this.setState({ asked: null })}>
        <${Exactly} about=${about} id=${run} />
        <p>It ends with everything that it started. Finished steps are kept; it can be resumed.</p>
        <${Problem} error=${error} />
        <p class="buttons">
          <button onClick=${() => this.setState({ asked: null })}>Keep running</button>
          <button class="danger" disabled=${isSending} onClick=${() => this.doIt("stop")}>Stop</button>
        </p>
      <//>
    `;
  }

  again({ name, about, run }, { error, isSending, mode }, modes) {
    const chosen = mode ?? modes[0];
    const send = (event) => {
      event.preventDefault();
      this.doIt(chosen);
    };
    return html`
      <${Dialog} title=${`Run ${name ?? "it"} again?`} onClose=${() => this.setState({ asked: null })}>
        <${Exactly} about=${about} id=${run} />
        <form onSubmit=${send}>
          <fieldset class="field"><legend>How</legend>
            ${modes.map((one) => html`
              <label key=${one}><input type="radio" name="mode" checked=${one === chosen} onChange=${() => this.setState({ mode: one })} />
                ${" "}${MODES[one][0]} <span class="help">${MODES[one][1]}</span></label>`)}
          </fieldset>
          <${Problem} error=${error} />
          <p class="buttons">
            <button disabled=${isSending}>${MODES[chosen][0]}</button>
            <button type="button" onClick=${() => this.setState({ asked: null })}>Leave it as it is</button>
          </p>
        </form>
      <//>
    `;
  }

  render(props, state) {
    const modes = Object.keys(MODES).filter((mode) => props.actions.includes(mode));
    const canStop = props.actions.includes("stop");
    const ask = (asked) => () => this.setState({ asked, error: null, mode: null });
    const off = { disabled: !!readOnly, title: readOnly || undefined };
    return html`
      ${modes.length ? html`<button ...${off} aria-keyshortcuts="r" onClick=${ask("again")}>${MODES[modes[0]][0]}…</button>` : null}
      ${canStop ? html`<button ...${off} aria-keyshortcuts="s" onClick=${ask("stop")}>Stop…</button>` : null}
      ${state.asked === "stop" ? this.stop(props, state) : null}
      ${state.asked === "again" && modes.length ? this.again(props, state, modes) : null}
    `;
  }
}
