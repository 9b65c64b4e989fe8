// A question as a form: native controls, a label above, an error below. What is typed stays until it is sent.
import { Component, html } from "./dom.js";
import { post } from "./doing.js";

const holds = (when, values) => {
  if (!when) return true;
  const given = values[when.field];
  return (Array.isArray(given) ? given : [given]).some((item) => when.in.includes(item));
};

const BLANK = { boolean: false, text: "", "single-select": null, "multi-select": [] };
const initial = (form) =>
  Object.fromEntries(form.fields.map((field) => [field.id, field.default ?? BLANK[field.type]]));

const Control = ({ field, value, values, set, error }) => {
  const id = `field ${field.id}`;
  const described = [field.help ? `${id} help` : "", error ? `${id} error` : ""].filter(Boolean).join(" ") || undefined;
  const common = { id, "aria-invalid": error ? "true" : undefined, "aria-describedby": described };
  const options = (field.options ?? []).filter((option) => holds(option.when, values));
  const label = html`<bdi>${field.label}</bdi>${field.required ? " *" : ""}`;
  const help = field.help ? html`<p id=${`${id} help`} class="help"><bdi>${field.help}</bdi></p>` : null;
  const wrong = error ? html`<p id=${`${id} error`} class="error">✗ <bdi>${error}</bdi></p>` : null;
  if (field.type === "boolean") {
    return html`<div class="field">
      <label><input type="checkbox" ...${common} checked=${value === true} onChange=${(e) => set(e.target.checked)} /> ${label}</label>
      ${help}${wrong}
    </div>`;
  }
  if (field.type === "text") {
    const type = field.multiline ? "textarea" : "input";
    return html`<div class="field">
      <label for=${id}>${label}</label>
      <${type} ...${common} rows=${field.rows ?? 4} placeholder=${field.placeholder ?? ""} value=${value ?? ""}
        onInput=${(e) => set(e.target.value)} />
      ${help}${wrong}
    </div>`;
  }
  const isMany = field.type === "multi-select";
  const chosen = isMany ? value ?? [] : [value];
  const toggle = (option, on) => {
    if (!isMany) return set(option.value);
    return set(on ? [...chosen, option.value] : chosen.filter((one) => one !== option.value));
  };
  return html`<fieldset class="field" aria-describedby=${described}>
    <legend>${label}</legend>
    ${options.map((option) => html`
      <label key=${option.value}>
        <input type=${isMany ? "checkbox" : "radio"} name=${id} checked=${chosen.includes(option.value)}
          onChange=${(e) => toggle(option, e.target.checked)} />
        <bdi>${option.label}</bdi> ${option.description ? html`<span class="mute"><bdi>${option.description}</bdi></span>` : null}
      </label>
    `)}
    ${help}${wrong}
  </fieldset>`;
};

export class Question extends Component {
  constructor(props) {
    super(props);
    this.state = { values: initial(props.need.form), error: null, isSending: false };
  }

  async send(event) {
    event.preventDefault();
    const { need, run } = this.props;
    this.setState({ isSending: true, error: null });
    try {
      const { values } = this.state;
      const shown = need.form.fields.filter((field) => holds(field.when, values));
      const given = Object.fromEntries(shown.map((field) => [field.id, values[field.id]]));
      await post(`/api/run/${encodeURIComponent(run)}/answer`, { question: need.id, digest: need.digest, values: given });
    } catch (error) {
      this.setState({ error });
      document.getElementById(`field ${error.fields?.[0]?.field}`)?.focus();
    }
    this.setState({ isSending: false });
  }

  render({ need }, { values, error, isSending }) {
    const wrong = Object.fromEntries((error?.fields ?? []).map((one) => [one.field, one.message]));
    const set = (id) => (value) => this.setState({ values: { ...this.state.values, [id]: value } });
    return html`
      <form class="need" onSubmit=${(event) => this.send(event)} aria-labelledby=${`need ${need.id}`}>
        <h2 id=${`need ${need.id}`}>? <bdi>${need.title}</bdi></h2>
        ${need.form.description ? html`<p><bdi>${need.form.description}</bdi></p>` : null}
        ${need.form.fields.filter((field) => holds(field.when, values)).map((field) => html`
          <${Control} key=${field.id} field=${field} value=${values[field.id]} values=${values}
            set=${set(field.id)} error=${wrong[field.id]} />
        `)}
        ${error && !error.fields.length ? html`<p role="alert" class="error"><bdi>${error.message}</bdi> ${error.hint ?? ""}</p>` : null}
        <button type="submit" disabled=${isSending}>${need.form.submitLabel || "Send"}</button>
        <span class="mute">question ${need.id}</span>
      </form>
    `;
  }
}
