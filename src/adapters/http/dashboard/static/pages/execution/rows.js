// Executions as rows of a table, in the list of all and in the history of a job.
import { html } from "../../lib/html.js";
import { api } from "../../lib/api.js";
import { NONE, duration, shortId } from "../../lib/format.js";
import { Menu } from "../../ui/button.js";
import { Status } from "../../ui/status.js";
import { doing } from "../../ui/toast.js";
import { Absolute, Elapsed, Relative } from "../../ui/when.js";
import { cancelExecution } from "./acts.js";

/** `names`: of jobs by id, or null where all are of one `job`; `reload` is called after a change. */
export const columns = (names, reload, job = null) => [
  names
    ? { key: "job", title: "Job", card: "title", cell: (row) => html`<a class="row is-tight strong" href=${`/executions/${row.id}`}>${nameOf(row, names)}</a>` }
    : { key: "job", title: "Scheduled", card: "title", cell: ({ id, scheduled_at }) => html`<a class="row is-tight strong" href=${`/executions/${id}`}><${Absolute} at=${scheduled_at} seconds /></a>` },
  { key: "status", title: "Status", cell: ({ status }) => html`<${Status} status=${status} />` },
  names && { key: "at", title: "Scheduled", cell: ({ scheduled_at }) => html`<${Absolute} at=${scheduled_at} seconds />` },
  !names && { key: "ago", title: "When", cell: ({ scheduled_at }) => html`<span class="soft"><${Relative} at=${scheduled_at} /></span>` },
  { key: "took", title: "Took", align: "right", cell: (row) => html`<${Took} row=${row} />` },
  { key: "attempt", title: "Attempt", align: "right", cell: (row) => (row.status === "skipped" ? NONE : html`<${Tries} execution=${row} />`) },
  { key: "origin", title: "Made by", cell: ({ origin }) => html`<span class="soft">${origin}</span>` },
  { key: "error", title: "Error", card: "wide", cell: ({ error, error_type, skip_reason }) => html`<span class="error-line" title=${error}>${error_type && html`<code>${error_type}</code> `}<span class="soft">${error ?? skip_reason?.replaceAll("_", " ") ?? ""}</span></span>` },
  { key: "actions", title: html`<span class="unseen">Actions</span>`, label: "", cell: (row) => html`<${Menu} label=${`Actions for execution ${shortId(row.id)}`} items=${actions(row, job?.name ?? nameOf(row, names), reload)} />` },
].filter(Boolean);

/** The name of an execution's job, which a deleted one has no more; `names` as `jobNames` gives them. */
export function nameOf({ job_id }, names) {
  const name = names?.get(job_id);
  if (name === undefined) return `Job ${shortId(job_id)}`;
  return name ?? `Deleted job ${shortId(job_id)}`;
}

/** Which try of how many it is at; the number of an attempt also rises when work is handed back, and counts no tries. */
export function Tries({ execution: { attempt, failures, status, max_retries: retries } }) {
  const isOn = ["running", "success", "cancelled"].includes(status);
  return html`<span>${Math.min(attempt, failures + (isOn ? 1 : 0))}<span class="soft"> of ${retries + 1}</span></span>`;
}

function Took({ row: { status, started_at, duration_ms } }) {
  return status === "running" ? html`<${Elapsed} since=${started_at} />` : duration(duration_ms);
}

function actions({ id, job_id, status }, name, reload) {
  const isOpen = status === "pending" || status === "running";
  const retry = async () => {
    await doing(() => api.executions.retry(id), (made) => ({ text: "It runs again", href: `/executions/${made.id}` }), "Not retried");
    reload();
  };
  return [
    { label: "Open", icon: "right", href: `/executions/${id}` },
    { label: "Its job", icon: "jobs", href: `/jobs/${job_id}` },
    null,
    { label: "Retry", icon: "retry", disabled: status !== "failed" && status !== "timeout", onClick: retry },
    { label: "Cancel", icon: "cancel", tone: "danger", disabled: !isOpen, onClick: () => cancelExecution(id, name, reload) },
  ];
}
