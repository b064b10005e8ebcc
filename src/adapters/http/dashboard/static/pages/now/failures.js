// What failed last, with what it said, and a way to run it again.
import { html } from "../../lib/html.js";
import { api, jobNames } from "../../lib/api.js";
import { useResource } from "../../lib/resource.js";
import { Button } from "../../ui/button.js";
import { Card } from "../../ui/page.js";
import { Awaited, Empty } from "../../ui/states.js";
import { Mark, wordOf } from "../../ui/status.js";
import { Table } from "../../ui/table.js";
import { doing } from "../../ui/toast.js";
import { Relative } from "../../ui/when.js";
import { nameOf } from "../execution/rows.js";

const LIMIT = 6;
const ENDED_BADLY = ["failed", "timeout"];
const FACTS = ["tocsin.execution.failed", "tocsin.execution.timed_out"];

async function load(signal) {
  const { items, total } = await api.executions.list({ status: ENDED_BADLY, limit: LIMIT }, signal);
  return { items, total, names: await jobNames(items.map((each) => each.job_id)) };
}

export function Failures() {
  const failures = useResource(load, [], { facts: FACTS, every: 30000 });
  return html`<${Card} title="Failed lately" flush aside=${failures.data?.items.length > 0 && html`<a href="/executions?status=failed&status=timeout">All failures</a>`}>
    <${Awaited} of=${failures}>${({ items, names }) => items.length === 0
      ? html`<${Empty} icon="check" isSlim title="Nothing has failed" text="Failures and time-outs show here, with what was said." />`
      : html`<${Table} label="Executions that failed last" rows=${items} rowKey=${({ id }) => id} columns=${columns(names, failures.reload)} />`}</${Awaited}>
  </${Card}>`;
}

const columns = (names, reload) => [
  { key: "job", title: "Job", card: "title", cell: ({ id, job_id, status }) => html`<a class="row is-tight strong" href=${`/executions/${id}`}><${Mark} status=${status} />${nameOf({ job_id }, names)}<span class="unseen">${wordOf(status)}</span></a>` },
  { key: "error", title: "Error", cell: ({ error, error_type }) => html`<span class="error-line" title=${error}><code>${error_type}</code> <span class="soft">${error}</span></span>` },
  { key: "at", title: "When", cell: ({ scheduled_at }) => html`<${Relative} at=${scheduled_at} />` },
  { key: "actions", title: html`<span class="unseen">Actions</span>`, label: "", cell: (row) => html`<${Button} size="small" icon="retry" label=${`Retry ${nameOf(row, names)}`} onClick=${() => retry(row, nameOf(row, names), reload)}>Retry</${Button}>` },
];

async function retry({ id }, name, reload) {
  await doing(() => api.executions.retry(id), (made) => ({ text: `${name} runs again`, href: `/executions/${made.id}` }), "Not retried");
  reload();
}
