// Who changed a job, when, and what: each version beside the one before.
import { html, useState } from "../../lib/html.js";
import { api } from "../../lib/api.js";
import { count, plural } from "../../lib/format.js";
import { useResource } from "../../lib/resource.js";
import { Button } from "../../ui/button.js";
import { Card } from "../../ui/page.js";
import { Awaited } from "../../ui/states.js";
import { Absolute, Relative } from "../../ui/when.js";

const FIRST = 10;
const MOST = 250;

export function Changes({ job }) {
  const [limit, setLimit] = useState(FIRST);
  const changes = useResource((signal) => api.jobs.changes(job.id, { limit }, signal), [job.id, job.version, limit]);
  return html`<${Card} title="Changes" aside=${changes.data && html`<span class="numeric">${plural(changes.data.total, "version")}</span>`}>
    <${Awaited} of=${changes}>${({ items, total }) => html`<ol class="changes" reversed>${[...items].sort((a, b) => b.version - a.version).map((change) => html`<${Change} key=${change.version} change=${change} />`)}</ol>
      ${total > items.length && limit < MOST && html`<${Button} size="small" onClick=${() => setLimit(MOST)}>Show ${count(Math.min(MOST, total) - items.length)} more</${Button}>`}`}</${Awaited}>
  </${Card}>`;
}

function Change({ change: { version, changed_at, changed_by, reason, before, after } }) {
  const differences = before ? differing(flat(before), flat(after)) : [];
  return html`<li class="change">
    <p class="row is-apart"><span><strong>${reason.replaceAll("_", " ")}</strong>${changed_by && html` <span class="soft">by ${changed_by}</span>`}</span>
      <span class="soft numeric">v${version} · <${Absolute} at=${changed_at} />, <${Relative} at=${changed_at} /></span></p>
    ${differences.length > 0 && html`<dl class="diff">${differences.map(([field, old, fresh]) => html`<div key=${field}><dt>${field.replaceAll("_", " ")}</dt>
      <dd>${old !== null && html`<del><span class="unseen">was </span>${old}</del>`}${fresh !== null && html`<ins><span class="unseen">is now </span>${fresh}</ins>`}</dd></div>`)}</dl>`}
  </li>`;
}

/** A version as texts by field; documents by what is in them, so that a change deep inside is told alone. */
function flat({ definition, status, deleted }) {
  const texts = { status, ...(deleted ? { deleted: "yes" } : {}) };
  const put = (name, value) => {
    if (value === null || value === undefined) return;
    if (typeof value === "object" && !Array.isArray(value)) for (const [key, each] of Object.entries(value)) put(`${name}.${key}`, each);
    else texts[name] = Array.isArray(value) && value.every((each) => typeof each === "string") ? value.join(", ") : typeof value === "string" ? value : JSON.stringify(value);
  };
  for (const [name, value] of Object.entries(definition)) put(name, value);
  return texts;
}

function differing(before, after) {
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return fields.filter((field) => before[field] !== after[field]).map((field) => [field, before[field] ?? null, after[field] ?? null]);
}
