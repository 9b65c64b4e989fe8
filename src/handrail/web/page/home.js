// Everything in the project: what needs a person comes first.
import { html } from "./dom.js";
import { cost, duration, SIGNS, time, WORDS } from "./words.js";

const GROUPS = [
  ["needs", "Needs you", "nothing"],
  ["running", "Running", "nothing"],
  ["delayed", "Delayed", null],
  ["recent", "Recent", "No runs yet. `handrail run NAME` starts one; `handrail list` shows what there is."],
];

const address = (row) => `/${row.id.replace(":", "/")}`;

const when = (row, now) => {
  if (row.group === "recent") return time(row.ended ?? row.started);
  return row.started == null ? "" : duration(now - row.started);
};

const Entry = ({ row, now }) => html`
  <li class="entry">
    <a href=${address(row)} class="row">
      <span class=${`sign ${row.status}`} aria-hidden="true">${SIGNS[row.status] ?? "·"}</span>
      <span class="name"><bdi>${row.name}</bdi></span>
      <span class="about"><bdi>${row.about}</bdi></span>
      <span class="what"><bdi>${row.need?.title ?? row.place ?? row.why ?? ""}</bdi></span>
      <span class=${`word ${row.status}`}>${WORDS[row.status] ?? row.status}</span>
      <span class="figure">${when(row, now)}</span>
      <span class="figure">${cost(row.usage)}</span>
    </a>
  </li>
`;

export const Home = ({ received, now }) => {
  const rows = received.rows("entries").sort((a, b) => a.order - b.order);
  return html`
    <h1 tabindex="-1">Everything</h1>
    ${GROUPS.map(([group, title, empty]) => {
      const members = rows.filter((row) => row.group === group);
      if (!members.length && empty === null) return null;
      return html`
        <section key=${group} class=${`group ${group}`} aria-labelledby=${`group-${group}`}>
          <h2 id=${`group-${group}`}>${title} <span class="count">${members.length || ""}</span></h2>
          ${members.length
            ? html`<ul>${members.map((row) => html`<${Entry} key=${row.id} row=${row} now=${now} />`)}</ul>`
            : html`<p class="empty">${empty}</p>`}
        </section>
      `;
    })}
  `;
};
