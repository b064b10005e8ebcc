// What runs at this moment, longest first: of very much, the longest of what began last.
import { html } from "../../lib/html.js";
import { api, jobNames } from "../../lib/api.js";
import { count } from "../../lib/format.js";
import { useResource } from "../../lib/resource.js";
import { Button } from "../../ui/button.js";
import { Card } from "../../ui/page.js";
import { Awaited, Empty } from "../../ui/states.js";
import { Mark } from "../../ui/status.js";
import { Table } from "../../ui/table.js";
import { Elapsed, Relative } from "../../ui/when.js";
import { cancelExecution } from "../execution/acts.js";
import { Tries, nameOf } from "../execution/rows.js";

const LIMIT = 10;
const LOOKED_AT = 50;
const FACTS = ["tocsin.execution."];

async function load(signal) {
  const page = await api.executions.list({ status: "running", limit: LOOKED_AT }, signal);
  const items = page.items.sort((a, b) => a.started_at.localeCompare(b.started_at)).slice(0, LIMIT);
  return { items, total: page.total, names: await jobNames(items.map((each) => each.job_id)) };
}

export function Running() {
  const running = useResource(load, [], { facts: FACTS, every: 10000 });
  const total = running.data?.total ?? 0;
  return html`<${Card} title="Running" flush aside=${total > LIMIT && html`${total > LOOKED_AT && html`<span class="soft">of the newest ${LOOKED_AT}</span>`}<a href="/executions?status=running">${count(total)} in all</a>`}>
    <${Awaited} of=${running}>${({ items, names }) => items.length === 0
      ? html`<${Empty} icon="executions" isSlim title="Nothing runs at this moment" text="What begins shows here at once." />`
      : html`<${Table} label="Running executions" rows=${items} rowKey=${({ id }) => id} columns=${columns(names, running.reload)} />`}</${Awaited}>
  </${Card}>`;
}

const columns = (names, reload) => [
  { key: "job", title: "Job", card: "title", cell: ({ id, job_id }) => html`<a class="row is-tight strong" href=${`/executions/${id}`}><${Mark} status="running" />${nameOf({ job_id }, names)}</a>` },
  { key: "for", title: "Running for", align: "right", cell: ({ started_at }) => html`<${Elapsed} since=${started_at} />` },
  { key: "left", title: "Lease", cell: ({ lease_expires_at }) => html`<span class="soft">ends <${Relative} at=${lease_expires_at} /></span>`, card: "none" },
  { key: "attempt", title: "Attempt", align: "right", cell: (row) => html`<${Tries} execution=${row} />` },
  { key: "node", title: "Node", cell: ({ worker_id }) => html`<span class="soft">${worker_id?.split("#")[0]}</span>` },
  { key: "actions", title: html`<span class="unseen">Actions</span>`, label: "", cell: (row) => html`<${Button} size="small" onClick=${() => cancelExecution(row.id, nameOf(row, names), reload)} label=${`Cancel ${nameOf(row, names)}`}>Cancel</${Button}>` },
];
