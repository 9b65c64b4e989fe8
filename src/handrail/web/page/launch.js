// A launch: resume, continue or restart the last run, or a new run with its params, agents, phases and limits.
import { Problem } from "./dialog.js";
import { get, post } from "./doing.js";
import { bdi, Component, draft, html } from "./dom.js";
import { errorsOf, Fields, focusWrong } from "./form.js";
import { launchedHere } from "./news.js";
import { catalogAddress, go } from "./routes.js";
import { age, WORDS } from "./words.js";

const MODES = {
  new: ["New run", () => ""],
  resume: ["Resume it", (run) => `keeps finished steps${run.next ? `; continues at ${run.next.replaceAll("/", " › ")}` : ""}`],
  continue: ["Continue it", () => "goes on after its end, with the files that it made"],
  restart: ["Restart it", (run) => (run.changed?.length ? `changed since: ${run.changed.join("; ")}` : "with the current definitions; a copy of its files is kept")],
};
const LIMITS = { usd: "$" };
const enc = encodeURIComponent;

// A param of a flow as a field of a form.
const asField = (param) => ({
  id: param.name,
  label: param.name,
  help: param.about,
  required: param.required,
  type: param.kind === "boolean" ? "boolean" : param.kind === "choice" ? "single-select" : "text",
  multiline: param.multiline || param.kind === "json",
  options: param.choices?.map((choice) => ({ value: String(choice.value), label: choice.label })),
  default: param.kind === "boolean" ? param.default === true : param.default == null ? undefined : typeof param.default === "string" ? param.default : JSON.stringify(param.default),
});

export class LaunchPage extends Component {
  constructor(props) {
    super(props);
    this.name = `launch.${props.kind}.${props.id}`;
    this.state = { offer: null, error: null, preview: null, isSending: false, params: {}, routes: {}, limits: {}, more: {}, ...draft.get(this.name), mode: null };
  }

  async componentDidMount() {
    try {
      const offer = await get(`/api/launch/${enc(this.props.kind)}/${enc(this.props.id)}`);
      const fields = offer.fields.map(asField);
      if (offer.hasTask && !fields.some((field) => field.id === "task")) fields.unshift({ id: "task", label: "task", type: "text", multiline: true, rows: 3, help: "what is to be done" });
      const params = Object.fromEntries(fields.map((field) => [field.id, field.default ?? (field.type === "boolean" ? false : "")]));
      this.setState({ offer, fields, mode: offer.mode, params: { ...params, ...this.state.params } });
    } catch (error) {
      this.setState({ error });
    }
  }

  keep(part) {
    this.setState({ ...part, preview: null }, () => {
      const { params, routes, limits, more } = this.state; // and not the mode: it is about a run that may be another one by then
      draft.set(this.name, { params, routes, limits, more });
    });
  }

  put(section, name, value) {
    this.keep({ [section]: { ...this.state[section], [name]: value } });
  }

  wanted() {
    const { offer, fields, params, routes, limits, more } = this.state;
    const given = { ...params };
    const isParam = offer.fields.some((param) => param.name === "task");
    for (const field of fields) if (given[field.id] === "" || given[field.id] == null) delete given[field.id];
    const task = isParam ? undefined : given.task;
    if (!isParam) delete given.task;
    const filled = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value));
    return { name: offer.name, ...(task ? { task } : {}), params: given, routes: filled(routes), limits: filled(limits), ...filled(more) };
  }

  async send(event, dryRun) {
    event?.preventDefault();
    const { offer, mode, more } = this.state;
    this.setState({ isSending: true, error: null });
    try {
      if (mode !== "new" && !dryRun) {
        const from = mode === "restart" && more.restart ? { from: more.restart } : {};
        await post(`/api/runs/${enc(offer.run.id)}/${mode}`, from);
        draft.drop(this.name);
        return go(`/runs/${enc(offer.run.id)}`);
      }
      const { restart: _, ...wanted } = this.wanted();
      const told = await post("/api/runs", dryRun ? { ...wanted, dryRun } : wanted);
      if (dryRun) return this.setState({ preview: told, isSending: false });
      launchedHere(told.run);
      draft.drop(this.name);
      return go(`/runs/${enc(told.run)}`);
    } catch (error) {
      return this.setState({ error, isSending: false }, error.fields?.length ? focusWrong : undefined);
    }
  }

  async save(where, name) {
    try {
      const { file } = await post("/api/routes", { where, name, routes: this.state.routes });
      this.setState({ saved: file, error: null });
    } catch (error) {
      this.setState({ error });
    }
  }

  modes({ offer, mode, more }, now) {
    const { run } = offer;
    if (!run) return null;
    return html`
      <p>${bdi(run.id)} ${WORDS[run.status] ?? run.status} ${age(run.at, now)} ago${run.why ? html`: ${bdi(run.why)}` : null}</p>
      <fieldset class="field"><legend>How</legend>
        ${Object.keys(MODES).filter((one) => offer.modes.includes(one)).map((one) => html`
          <label key=${one}><input type="radio" name="mode" checked=${mode === one} onChange=${() => this.keep({ mode: one })} /> ${MODES[one][0]} <span class="help">${bdi(MODES[one][1](run))}</span></label>`)}
      </fieldset>
      ${mode === "restart" && run.from?.length ? this.choice("restart", "From", run.from, more.restart, "the beginning") : null}
      ${mode !== "new" ? html`<p class="mute">IN ${bdi([...Object.entries(run.params ?? {}).map(([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`), ...(run.routes ?? []).map((row) => `${row.group}: ${row.route ?? "–"}`)].join(" · ") || "no params")}</p>` : null}
    `;
  }

  choice(name, label, values, value, first) {
    return html`<label class="inline">${label} <select value=${value ?? ""} onChange=${(e) => this.put("more", name, e.target.value)}>
      <option value="">${first}</option>${values.map((one) => html`<option key=${one}>${one}</option>`)}</select></label>`;
  }

  routes({ offer, routes, saved, more }) {
    if (!offer.groups.length) return null;
    const isChosen = Object.values(routes).some(Boolean);
    const presets = Object.keys(offer.presets ?? {});
    const errors = errorsOf(this.state.error);
    return html`
      <h2>Agents</h2>
      ${presets.length ? this.choice("preset", "Preset", presets, more.preset, "flow default") : null}
      <datalist id="agents">${offer.agents.map((agent) => html`<option key=${agent} value=${agent} />`)}</datalist>
      ${offer.groups.map((group) => html`
        <div class="field" key=${group.group}><label for=${`route-${group.group}`}>${group.group} <span class="mute">${bdi(group.steps.map((step) => step.step.split("/").at(-1) + (step.rounds > 1 ? ` (↻${step.rounds})` : "")).join(", "))}</span></label>
          <input id=${`route-${group.group}`} list="agents" placeholder=${group.route ?? "agent or agent:model"} value=${routes[group.group] ?? ""} aria-invalid=${errors[`routes.${group.group}`] ? "true" : undefined}
            onInput=${(e) => this.put("routes", group.group, e.target.value)} />
          ${errors[`routes.${group.group}`] ? html`<p class="error">✗ ${bdi(`${group.group} ${errors[`routes.${group.group}`]}`)}</p>` : null}</div>`)}
      ${isChosen ? html`<p class="buttons"><button type="button" onClick=${() => this.save("flow", offer.id)}>Save for this ${offer.kind}</button>
        <label class="inline">or as preset <input value=${more.presetName ?? ""} onInput=${(e) => this.setState({ more: { ...more, presetName: e.target.value } })} /></label>
        <button type="button" disabled=${!more.presetName} onClick=${() => this.save("preset", more.presetName)}>Save preset</button> ${saved ? html`<span role="status">saved in ${bdi(saved)}</span>` : null}</p>` : null}
    `;
  }

  fresh(state) {
    const { offer, fields, params, limits, more, error } = state;
    const errors = errorsOf(error);
    return html`
      <${Fields} name="param" fields=${fields} values=${params} errors=${errors} onSet=${(name, value) => this.put("params", name, value)} />
      ${this.routes(state)}
      <details open=${Object.values(limits).some(Boolean)}><summary>Scope, phases, limits</summary>
        <div class="field"><label for="scope">Scope</label><input id="scope" placeholder=${offer.scope} value=${more.scope ?? ""} onInput=${(e) => this.put("more", "scope", e.target.value)} />
          ${errors.scope ? html`<p class="error">✗ scope ${bdi(errors.scope)}</p>` : null}</div>
        ${this.choice("start", "From", offer.phases, more.start, "first")} ${this.choice("until", "Until", offer.phases, more.until, "last")}
        <div class="columns">${Object.keys(offer.limits).map((name) => html`
          <div class="field" key=${name}><label for=${`limit-${name}`}>Limit: ${LIMITS[name] ?? name}</label>
            <input id=${`limit-${name}`} inputmode="decimal" placeholder=${offer.limits[name] ?? "none"} value=${limits[name] ?? ""} aria-invalid=${errors[`limits.${name}`] ? "true" : undefined}
              onInput=${(e) => this.put("limits", name, e.target.value)} />${errors[`limits.${name}`] ? html`<p class="error">✗ ${name} ${bdi(errors[`limits.${name}`])}</p>` : null}</div>`)}</div>
      </details>
      <p><span class="mute">Estimate</span> ${bdi(state.preview?.estimate ?? offer.estimate ?? "–")}</p>
    `;
  }

  render({ kind, id, now, readOnly }, state) {
    const { offer, error, preview, isSending, mode } = state;
    const off = { disabled: isSending || !!readOnly, title: readOnly || undefined };
    const named = new Set(["scope", ...Object.keys(state.params), ...Object.keys(errorsOf(error)).filter((name) => /^(routes|limits)\./.test(name))]);
    const unnamed = error && (!error.fields?.length || error.fields.some((one) => !named.has(one.field)));
    return html`
      <article class="page launch">
        <p class="crumbs"><a href=${catalogAddress(kind, id)} aria-keyshortcuts="b">‹ ${bdi(id)}</a></p>
        <h1 tabindex="-1">Launch ${bdi(id)}</h1>
        ${offer ? html`
          ${offer.description ? html`<p class="text">${bdi(offer.description)}</p>` : null}
          ${offer.warnings?.map((line) => html`<p key=${line} class="notice">! ${bdi(line)}</p>`)}
          <form noValidate onSubmit=${(event) => this.send(event)}>
            ${this.modes(state, now)}
            ${mode === "new" ? this.fresh(state) : null}
            ${unnamed ? html`<${Problem} error=${error} />` : error ? html`<p role="alert" class="error">✗ Not launched: see the fields above.</p>` : null}
            <p class="buttons"><button class="main" ...${off}>${mode === "new" ? "Launch" : MODES[mode][0].replace(" it", "")}</button>
              ${mode === "new" ? html`<button type="button" ...${off} onClick=${() => this.send(null, true)}>Preview</button>` : null}<a class="button" href="/">Cancel</a></p>
          </form>
          ${preview ? html`<section aria-label="Preview"><h2>Preview</h2><pre tabindex="0">${bdi(preview.lines.join("\n"))}</pre>
            ${preview.warnings?.map((line) => html`<p key=${line} class="notice">! ${bdi(line)}</p>`)}</section>` : null}
        ` : error ? html`<${Problem} error=${error} />` : html`<p class="empty">Reading the definition …</p>`}
      </article>
    `;
  }
}
