// What runs at this moment, longest first.
import { html } from "../../lib/html.js";
import { api, jobNames } from "../../lib/api.js";
import { count, shortId } from "../../lib/format.js";
import { useResource } from "../../lib/resource.js";
import { Button } from "../../ui/button.js";
import { confirmed } from "../../ui/dialog.js";
import { Card } from "../../ui/page.js";
import { Awaited, Empty } from "../../ui/states.js";
import { Mark } from "../../ui/status.js";
import { Table } from "../../ui/table.js";
import { doing } from "../../ui/toast.js";
import { Elapsed, Relative } from "../../ui/when.js";

const LIMIT = 10;
const FACTS = ["tocsin.execution."];

async function load(signal) {
  const page = await api.executions.list({ status: "running", limit: 50 }, signal);
  const items = page.items.sort((a, b) => a.started_at.localeCompare(b.started_at)).slice(0, LIMIT);
  return { items, total: page.total, names: await jobNames(items.map((each) => each.job_id), signal) };
}

export function Running() {
  const running = useResource(load, [], { facts: FACTS, every: 10000 });
  const total = running.data?.total ?? 0;
  return html`<${Card} title="Running" flush aside=${total > LIMIT && html`<a href="/executions?status=running">${count(total)} in all</a>`}>
    <${Awaited} of=${running}>${({ items, names }) => items.length === 0
      ? html`<${Empty} icon="executions" isSlim title="Nothing runs at this moment" text="What begins shows here at once." />`
      : html`<${Table} label="Running executions" rows=${items} rowKey=${({ id }) => id} columns=${columns(names, running.reload)} />`}</${Awaited}>
  </${Card}>`;
}

const columns = (names, reload) => [
  { key: "job", title: "Job", card: "title", cell: ({ id, job_id }) => html`<a class="row is-tight strong" href=${`/executions/${id}`}><${Mark} status="running" />${names.get(job_id) ?? shortId(job_id)}</a>` },
  { key: "for", title: "Running for", align: "right", cell: ({ started_at }) => html`<${Elapsed} since=${started_at} />` },
  { key: "left", title: "Lease", cell: ({ lease_expires_at }) => html`<span class="soft">ends <${Relative} at=${lease_expires_at} /></span>`, card: "none" },
  { key: "attempt", title: "Attempt", align: "right", cell: ({ attempt, max_retries }) => html`${attempt}<span class="soft"> of ${max_retries + 1}</span>` },
  { key: "node", title: "Node", cell: ({ worker_id }) => html`<span class="soft">${worker_id?.split("#")[0]}</span>` },
  { key: "actions", title: html`<span class="unseen">Actions</span>`, label: "", cell: (row) => html`<${Button} size="small" onClick=${() => cancel(row, names.get(row.job_id), reload)} label=${`Cancel ${names.get(row.job_id)}`}>Cancel</${Button}>` },
];

async function cancel({ id }, name, reload) {
  const text = "Its handler is asked to stop within two seconds. The execution ends as cancelled and is not retried.";
  if (!(await confirmed({ title: `Cancel this execution of ${name}?`, text, action: "Cancel execution", keep: "Let it run" }))) return;
  await doing(() => api.executions.cancel(id), { text: `Cancelled ${name}`, href: `/executions/${id}` }, "Not cancelled");
  reload();
}
