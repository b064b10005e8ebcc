// What a job has run, newest first.
import { html } from "../../lib/html.js";
import { api } from "../../lib/api.js";
import { useResource } from "../../lib/resource.js";
import { setQuery } from "../../lib/router.js";
import { Button } from "../../ui/button.js";
import { Card } from "../../ui/page.js";
import { Awaited, Empty } from "../../ui/states.js";
import { EXECUTION_STATUSES, wordOf } from "../../ui/status.js";
import { Listed, Table } from "../../ui/table.js";
import { columns } from "../execution/rows.js";

const PAGE_SIZE = 20;

export function History({ job, query }) {
  const status = query.get("status") ?? "";
  const offset = Number(query.get("offset") ?? 0);
  const history = useResource((signal) => api.jobs.executions(job.id, { status, limit: PAGE_SIZE, offset }, signal), [job.id, status, offset], {
    facts: ["tocsin.execution."],
    wants: (fact) => fact.data.job_id === job.id,
  });
  return html`<${Card} title="History" flush aside=${html`<select class="input is-fit" aria-label="Status of executions" onChange=${(event) => setQuery({ status: event.currentTarget.value, offset: null })}>
      <option value="" selected=${!status}>All outcomes</option>${EXECUTION_STATUSES.map((each) => html`<option value=${each} selected=${each === status}>${wordOf(each)}</option>`)}</select>`}>
    <${Awaited} of=${history} lines=${6}>${(page) => html`<${Listed} page=${page} offset=${offset} what="executions" none=${html`<${Nothing} status=${status} />`}>
      <${Table} isStale=${history.isStale} label="Executions of this job" rows=${page.items} rowKey=${({ id }) => id} columns=${columns(null, history.reload, job)} /></${Listed}>`}</${Awaited}>
  </${Card}>`;
}

function Nothing({ status }) {
  if (!status) return html`<${Empty} isSlim icon="executions" title="It has not run yet" text="Each fire leaves a record here." />`;
  return html`<${Empty} isSlim icon="search" title=${`None ${wordOf(status)}`}><${Button} size="small" onClick=${() => setQuery({ status: null, offset: null })}>Show all</${Button}></${Empty}>`;
}
