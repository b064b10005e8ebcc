// Executions as rows of a table, in the list of all and in the history of a job.
import { html } from "../../lib/html.js";
import { api } from "../../lib/api.js";
import { NONE, duration, shortId } from "../../lib/format.js";
import { Menu } from "../../ui/button.js";
import { confirmed } from "../../ui/dialog.js";
import { Status } from "../../ui/status.js";
import { doing } from "../../ui/toast.js";
import { Absolute, Elapsed, Relative } from "../../ui/when.js";

export const STATUSES = ["pending", "running", "success", "failed", "timeout", "skipped", "cancelled"];

/** `names`: of jobs by id, or null where all are of one job; `reload` is called after a change. */
export const columns = (names, reload) => [
  names
    ? { key: "job", title: "Job", card: "title", cell: (row) => html`<a class="row is-tight strong" href=${`/executions/${row.id}`}>${nameOf(row, names)}</a>` }
    : { key: "job", title: "Scheduled", card: "title", cell: ({ id, scheduled_at }) => html`<a class="row is-tight strong" href=${`/executions/${id}`}><${Absolute} at=${scheduled_at} seconds /></a>` },
  { key: "status", title: "Status", cell: ({ status }) => html`<${Status} status=${status} />` },
  names && { key: "at", title: "Scheduled", cell: ({ scheduled_at }) => html`<${Absolute} at=${scheduled_at} seconds />` },
  !names && { key: "ago", title: "When", cell: ({ scheduled_at }) => html`<span class="soft"><${Relative} at=${scheduled_at} /></span>` },
  { key: "took", title: "Took", align: "right", cell: (row) => html`<${Took} row=${row} />` },
  { key: "attempt", title: "Attempt", align: "right", cell: ({ attempt, max_retries, status }) => (status === "skipped" ? NONE : html`<span>${attempt}<span class="soft"> of ${max_retries + 1}</span></span>`) },
  { key: "origin", title: "Made by", cell: ({ origin }) => html`<span class="soft">${origin}</span>` },
  { key: "error", title: "Error", card: "wide", cell: ({ error, error_type, skip_reason }) => html`<span class="error-line" title=${error}>${error_type && html`<code>${error_type}</code> `}<span class="soft">${error ?? skip_reason?.replaceAll("_", " ") ?? ""}</span></span>` },
  { key: "actions", title: html`<span class="unseen">Actions</span>`, label: "", cell: (row) => html`<${Menu} label=${`Actions for execution ${shortId(row.id)}`} items=${actions(row, nameOf(row, names), reload)} />` },
].filter(Boolean);

const nameOf = ({ job_id }, names) => names?.get(job_id) ?? `Deleted job ${shortId(job_id)}`;

function Took({ row: { status, started_at, duration_ms } }) {
  return status === "running" ? html`<${Elapsed} since=${started_at} />` : duration(duration_ms);
}

function actions({ id, job_id, status }, name, reload) {
  const isOpen = status === "pending" || status === "running";
  const retry = async () => {
    await doing(() => api.executions.retry(id), (made) => ({ text: "It runs again", href: `/executions/${made.id}` }), "Not retried");
    reload();
  };
  const cancel = async () => {
    const text = "Its handler is asked to stop within two seconds. The execution ends as cancelled and is not retried.";
    if (!(await confirmed({ title: "Cancel this execution?", text, action: "Cancel execution", keep: "Let it run" }))) return;
    await doing(() => api.executions.cancel(id), { text: "The execution is cancelled", href: `/executions/${id}` }, "Not cancelled");
    reload();
  };
  return [
    { label: "Open", icon: "right", href: `/executions/${id}` },
    { label: "Its job", icon: "jobs", href: `/jobs/${job_id}` },
    null,
    { label: "Retry", icon: "retry", disabled: status !== "failed" && status !== "timeout", onClick: retry },
    { label: "Cancel", icon: "cancel", tone: "danger", disabled: !isOpen, onClick: cancel },
  ];
}
