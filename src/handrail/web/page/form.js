// Fields as native controls: a label above, an error below. The same for questions and for a launch.
import { bdi, html } from "./dom.js";
import { needAddress } from "./routes.js";

const MOST_RADIOS = 7;

export const holds = (when, values) => {
  if (!when) return true;
  const given = values[when.field];
  return (Array.isArray(given) ? given : [given]).some((item) => when.in.includes(item));
};

// A yes or no that is required and has no default: an empty box would be a no that nobody gave.
const isYesOrNo = (field) => field.type === "boolean" && field.required && field.default == null;
const YES_OR_NO = [{ value: true, label: "Yes" }, { value: false, label: "No" }];
const BLANK = { boolean: false, text: "", "single-select": null, "multi-select": [] };
export const initial = (fields) => Object.fromEntries(fields.map((field) => [field.id, field.default ?? (isYesOrNo(field) ? null : BLANK[field.type])]));

// The fields that are shown after these answers. The answer to a hidden field counts as none.
export const shownFields = (fields, values) => {
  const before = {};
  return fields.filter((field) => {
    const isShown = holds(field.when, before);
    before[field.id] = isShown ? values[field.id] : null;
    return isShown;
  });
};

export const valuesOf = (fields, values) => Object.fromEntries(shownFields(fields, values).map((field) => [field.id, values[field.id]]));

// Move the focus to the first field that is wrong.
export const focusWrong = () => setTimeout(() => {
  const first = document.querySelector("main [aria-invalid=true], dialog [aria-invalid=true], .field.wrong");
  (first?.matches("fieldset, [role=radiogroup]") ? first.querySelector("input") : first)?.focus();
});

const Choices = ({ id, field, options, chosen, set, isMany, common }) => {
  if (!isMany && options.length > MOST_RADIOS) {
    return html`<select id=${id} ...${common} value=${chosen[0] ?? ""} onChange=${(e) => set(e.target.value || null)}>
      <option value="">${field.required ? "choose" : "none"}</option>
      ${options.map((option) => html`<option key=${option.value} value=${option.value}>${option.label}</option>`)}
    </select>`;
  }
  const toggle = (option, on) => set(isMany ? (on ? [...chosen, option.value] : chosen.filter((one) => one !== option.value)) : option.value);
  return options.map((option) => html`
    <label key=${option.value}>
      <input type=${isMany ? "checkbox" : "radio"} name=${id} checked=${chosen.includes(option.value)} onChange=${(e) => toggle(option, e.target.checked)} />
      ${" "}${bdi(option.label)}${option.description ? html` <span class="help">${bdi(option.description)}</span>` : null}
    </label>
  `);
};

const Control = ({ field, id, value, values, set, error, isOff }) => {
  const described = [field.help && `${id}-help`, error && `${id}-error`].filter(Boolean).join(" ") || undefined;
  const common = { "aria-invalid": error ? "true" : undefined, "aria-describedby": described, disabled: isOff };
  const label = html`${bdi(field.label)}${field.required ? html` <span aria-hidden="true">*</span>` : null}`;
  const below = html`
    ${field.help ? html`<p id=${`${id}-help`} class="help">${bdi(field.help)}</p>` : null}
    ${error ? html`<p id=${`${id}-error`} class="error">✗ ${bdi(field.label)} ${bdi(error)}</p>` : null}
  `;
  if (field.type === "boolean" && !isYesOrNo(field)) {
    return html`<div class="field"><label><input type="checkbox" id=${id} ...${common} checked=${value === true}
      onChange=${(e) => set(e.target.checked)} /> ${label}</label>${below}</div>`;
  }
  if (field.type === "text") {
    const type = field.multiline ? "textarea" : "input";
    return html`<div class="field"><label for=${id}>${label}</label>
      <${type} id=${id} ...${common} required=${field.required} rows=${field.multiline ? field.rows ?? 4 : undefined}
        placeholder=${field.placeholder ?? ""} value=${value ?? ""} onInput=${(e) => set(e.target.value)} />${below}</div>`;
  }
  const isMany = field.type === "multi-select";
  const options = (isYesOrNo(field) ? YES_OR_NO : field.options ?? []).filter((option) => holds(option.when, values));
  const chosen = isMany ? value ?? [] : [value];
  const inside = html`<${Choices} id=${id} field=${field} options=${options} chosen=${chosen} set=${set} isMany=${isMany} common=${common} />`;
  if (!isMany && options.length > MOST_RADIOS) return html`<div class="field"><label for=${id}>${label}</label>${inside}${below}</div>`;
  const group = isMany ? { "aria-describedby": described } : { role: "radiogroup", "aria-required": field.required ? "true" : undefined, ...common, disabled: undefined };
  return html`<fieldset class=${error ? "field wrong" : "field"} ...${group} disabled=${isOff}><legend>${label}
    ${isMany ? html` <span class="mute">${chosen.length} chosen</span>` : null}</legend>${inside}${below}</fieldset>`;
};

// `onSet(id, value)` is called with what a person types; `errors` are sentences by field.
export const Fields = ({ name, fields, values, errors, onSet, isOff }) =>
  shownFields(fields, values).map((field, index) => html`
    <${Control} key=${field.id} id=${`${name}-${index}`} field=${field} value=${values[field.id]} values=${values} isOff=${isOff}
      set=${(value) => onSet(field.id, value)} error=${errors[field.id]} />
  `);

export const errorsOf = (error) => Object.fromEntries((error?.fields ?? []).map((one) => [one.field, one.message]));

// A question on the page of what asks it.
export const Question = ({ need, run }) => html`
  <section class="need" aria-labelledby=${`need-${need.id}`}>
    <h2 id=${`need-${need.id}`}>? ${bdi(need.title)}</h2>
    <a class="button" href=${needAddress(need.of ?? `run:${run}`, need.id)} aria-keyshortcuts="a">${need.kind === "approval" ? "Look" : "Answer"}</a>
  </section>
`;
