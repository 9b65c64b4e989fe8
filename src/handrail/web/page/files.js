// The files that steps promised and made: a list, and one of them with its preview.
import { inQuery, toQuery } from "./address.js";
import { html } from "./dom.js";
import { Preview } from "./preview.js";
import { Fetched } from "./reading.js";
import { plural, time } from "./words.js";

const enc = encodeURIComponent;

export const sizeWords = (bytes) => {
  if (bytes == null) return "–";
  if (bytes < 1000) return plural(bytes, "byte");
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
};

export const Files = ({ artifacts, outline }) =>
  artifacts.length
    ? html`<ul class="files made">
        ${[...artifacts].sort((a, b) => (a.created ?? 0) - (b.created ?? 0)).map((row) => html`
          <li key=${row.id}>
            <a href=${`/artifacts/${enc(row.id)}`}><bdi>${row.path ?? row.name}</bdi></a>
            <span class="mute">${row.version ? `v${row.version} · ` : ""}${sizeWords(row.size)} · ${time(row.created)} · <bdi>${outline?.words(row.step) ?? row.step}</bdi></span>
            <span class="ways">${row.version > 1 || row.supersedes ? html`<a href=${`/artifacts/${enc(row.id)}?as=diff`}>diff</a>` : null}
              <a href=${`/api/artifacts/${enc(row.id)}?as=raw`} download>download</a></span>
          </li>
        `)}
      </ul>`
    : html`<p class="empty">No step names a file that it makes. What steps wrote in the project, <code>git status</code> shows.</p>`;

// The page of one file: `/artifacts/ID`.
export const Artifact = ({ id }) => {
  const as = inQuery("as") === "diff" ? "diff" : "tree";
  return html`
    <${Fetched} path=${`/api/artifacts/${enc(id)}?as=${as}`}>
      ${(data) => html`
        <header class="title">
          ${data.run ? html`<p class="crumbs"><a href=${`/runs/${enc(data.run)}?view=artifacts`} aria-keyshortcuts="b">‹ run <bdi>${data.run}</bdi></a></p>` : null}
          <h1 tabindex="-1"><bdi>${data.path ?? data.name}</bdi></h1>
          <p class="facts">
            ${data.version ? html`<span>version ${data.version}</span>` : null}
            <span>${sizeWords(data.size)}</span>
            ${data.sha256 ? html`<span>sha256 <code>${data.sha256.slice(0, 16)}</code></span>` : null}
          </p>
        </header>
        <nav class="tabs" aria-label="How the file is shown">
          <a ...${toQuery({ as: null })} aria-current=${as === "tree" ? "page" : undefined}>Preview</a>
          <a ...${toQuery({ as: "diff" })} aria-current=${as === "diff" ? "page" : undefined}>Diff</a>
          <a href=${`/api/artifacts/${enc(id)}?as=raw`} download>Download raw</a>
        </nav>
        <${Preview} shown=${data} />
      `}
    <//>
  `;
};
