// A question on a page of its own: a form, or an approval. What is typed stays until it is sent, also over a reload.
import { Facts } from "./approval.js";
import { Problem } from "./dialog.js";
import { answer, needsOf } from "./doing.js";
import { bdi, Component, draft, html } from "./dom.js";
import { errorsOf, Fields, focusWrong, initial, valuesOf } from "./form.js";
import { addressOf, go, needAddress } from "./routes.js";
import { age, time } from "./words.js";

const WHERE = { cli: " in the terminal", tui: " in the terminal", web: " in a page", deadline: " by its deadline" };

const Ended = ({ need, of }) => {
  const { by, at, verdict } = need.answered;
  const word = verdict === true || verdict === "approved" ? "approved" : verdict === false || verdict === "rejected" ? "rejected" : "answered";
  return html`<p class="notice">This was ${word}${at ? ` at ${time(at)}` : ""}${WHERE[by] ?? ""}. Nothing left to do.</p>
    <p><a class="button" href=${addressOf(of)}>Show what asked</a></p>`;
};

class Asked extends Component {
  constructor(props) {
    super(props);
    const { need } = props;
    this.name = `need.${props.of}.${need.id}.${need.digest}`;
    this.fields = need.form?.fields ?? [];
    this.state = { values: { ...initial(this.fields), ...draft.get(this.name) }, error: null, isSending: false };
  }

  set(id, value) {
    const values = { ...this.state.values, [id]: value };
    draft.set(this.name, values);
    this.setState({ values });
  }

  async send(values) {
    const { need, of } = this.props;
    this.setState({ isSending: true, error: null });
    try {
      await answer(of, need, values);
      draft.drop(this.name);
      go(addressOf(of));
    } catch (error) {
      this.setState({ error, isSending: false }, error.fields?.length ? focusWrong : undefined);
    }
  }

  later() {
    const { of } = this.props;
    return html`<a class="button" href=${addressOf(of)}>Later</a>`;
  }

  foot() {
    const { need } = this.props;
    return html`<p class="mute">single use · question ${need.id} · digest ${need.digest?.slice(0, 8) ?? "–"}</p>`;
  }

  problem() {
    const { error } = this.state;
    if (!error || error.fields?.length) return null;
    if (error.status === 410) return html`<p role="alert" class="error">${bdi([error.message, error.hint].filter(Boolean).join("; "))} <a class="button" href=${needAddress(this.props.of, "next")}>Show what is asked</a></p>`;
    return html`<${Problem} error=${error} />`;
  }
}

class Form extends Asked {
  render({ need, readOnly }, { values, error, isSending }) {
    const submit = (event) => {
      event.preventDefault();
      this.send(valuesOf(this.fields, values));
    };
    const preview = need.preview ?? need.form.preview;
    return html`
      ${need.form.description ? html`<p class="text">${bdi(need.form.description)}</p>` : null}
      ${preview ? html`<details open><summary>Preview</summary><pre tabindex="0">${bdi(preview.text ?? preview)}</pre></details>` : null}
      <form noValidate onSubmit=${submit} aria-label=${need.title}>
        <${Fields} name="field" fields=${this.fields} values=${values} errors=${errorsOf(error)} isOff=${!!readOnly} onSet=${(id, value) => this.set(id, value)} />
        ${error?.fields?.length ? html`<p role="alert" class="error">✗ Not sent: ${error.fields.length === 1 ? "one field is" : `${error.fields.length} fields are`} not right.</p>` : this.problem()}
        <p class="buttons"><button class="main" disabled=${isSending || !!readOnly} title=${readOnly || undefined}>${need.submitLabel || need.form.submitLabel || "Send"}</button>${this.later()}</p>
      </form>
      ${this.foot()}
    `;
  }
}

class Approval extends Asked {
  answer(approved) {
    const reason = (this.state.values.reason ?? "").trim();
    if (!approved && !reason) {
      this.setState({ error: { fields: [{ field: "reason", message: "is needed to reject: say why" }] } }, focusWrong);
      return;
    }
    this.send({ approved, reason });
  }

  render({ need, readOnly }, { values, error, isSending }) {
    const off = { disabled: isSending || !!readOnly, title: readOnly || undefined };
    const note = { id: "reason", type: "text", label: "Note", help: "for the record, and for later steps" };
    const label = need.action?.does && need.action.does !== need.title ? `Approve: ${need.action.does.split(",")[0].slice(0, 60)}` : "Approve";
    return html`
      <${Facts} need=${need} />
      <${Fields} name="note" fields=${[note]} values=${values} errors=${errorsOf(error)} isOff=${!!readOnly} onSet=${(id, value) => this.set(id, value)} />
      ${this.problem()}
      <p class="buttons">
        <button ...${off} onClick=${() => this.answer(true)}>${bdi(label)}</button>
        <button ...${off} onClick=${() => this.answer(false)}>Reject…</button>${this.later()}
      </p>
      ${this.foot()}
    `;
  }
}

const isApproval = (need) => need.kind === "approval" || (need.form?.fields?.length === 2 && need.form.fields[0].id === "approved" && need.form.fields[1].id === "reason");

export class NeedPage extends Component {
  find({ id, topic, received }) {
    if (!topic) return null;
    const needs = needsOf(received, topic);
    const open = needs.filter((row) => !row.answered).sort((a, b) => a.since - b.since);
    return id === "next" ? open[0] : needs.find((row) => row.id === id);
  }

  // The address names the question, so that a reload shows the same one.
  settle() {
    const { id, topic, rows } = this.props;
    const need = this.find(this.props);
    if (id === "next" && need) return go(needAddress(topic, need.id), "replace");
    const row = !topic && rows.find((one) => one.need?.id === id);
    if (row) return go(needAddress(row.id, id), "replace");
    if (need && !this.opened) Object.assign(this, { opened: need.digest, path: need.path });
    return null;
  }

  componentDidMount() {
    this.settle();
  }

  componentDidUpdate() {
    this.settle();
  }

  body(need) {
    const { topic, received, readOnly } = this.props;
    if (!topic) return html`<p>This address does not say who asks. <a href="/">Home</a> lists all questions.</p>`;
    if (!received.head) return html`<p class="empty">Reading the question …</p>`;
    const open = needsOf(received, topic).filter((row) => !row.answered);
    const again = (!need || need.answered) && open.find((row) => row.path === (need?.path ?? this.path));
    if (again) return html`<p role="alert" class="notice">What was asked has changed meanwhile, so it is asked again. <a class="button" href=${needAddress(topic, again.id)}>Show what is asked</a></p>`;
    if (!need && open.length) return html`<p class="notice">This is not asked any more. <a class="button" href=${needAddress(topic, "next")}>Show what is asked</a></p>`;
    if (!need) return html`<p class="notice">This is not asked any more. Nothing left to do.</p><p><a class="button" href=${addressOf(topic)}>Show what asked</a></p>`;
    if (need.answered) return html`<${Ended} need=${need} of=${topic} />`;
    if (this.opened && need.digest !== this.opened) {
      const show = () => {
        this.opened = need.digest;
        this.setState({});
      };
      return html`<p role="alert" class="notice">The question has changed since you opened this. <button onClick=${show}>Show what is asked</button></p>`;
    }
    return html`<${isApproval(need) ? Approval : Form} key=${need.digest} need=${need} of=${topic} readOnly=${readOnly} />`;
  }

  render({ received, topic, now }) {
    const need = this.find(this.props);
    const head = received.head;
    const title = need ? (isApproval(need) ? `Approve? ${need.title}` : need.title) : "Question";
    return html`
      <article class="page need-page">
        <p class="crumbs">${topic ? html`<a href=${addressOf(topic)} aria-keyshortcuts="b">‹ ${bdi([head?.name, head?.about ?? head?.task].filter(Boolean).join(" ") || topic)}</a>` : html`<a href="/">‹ home</a>`}
          ${need?.path ? html` · ${bdi(need.path.split("/").join(" › "))}` : null} ${need?.since ? html`<span class="mute">asked ${age(need.since, now)} ago</span>` : null}</p>
        <h1 tabindex="-1">${bdi(title)}</h1>
        ${this.body(need)}
      </article>
    `;
  }
}
