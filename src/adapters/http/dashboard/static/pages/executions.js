// Executions of all jobs, newest first, narrowed by how they stand, where they come from, and when they were due.
import { html, useMemo } from "../lib/html.js";
import { api, jobNames, serverNow } from "../lib/api.js";
import { count, shortId } from "../lib/format.js";
import { absolute } from "../lib/time.js";
import { useResource } from "../lib/resource.js";
import { setQuery, usePlace } from "../lib/router.js";
import { Button } from "../ui/button.js";
import { Icon } from "../ui/icons.js";
import { Card, Page } from "../ui/page.js";
import { Awaited, Empty } from "../ui/states.js";
import { EXECUTION_STATUSES, Mark, wordOf } from "../ui/status.js";
import { Listed, Table } from "../ui/table.js";
import { columns } from "./execution/rows.js";

const PAGE_SIZE = 50;
const EVERY_MS = 30000;
const ORIGINS = [["", "Made by anything"], ["schedule", "Schedule"], ["manual", "Hand"], ["event", "Event"], ["retry", "Retry"], ["backfill", "Backfill"]];
const SPANS = [["", "Any time"], ["1h", "Last hour"], ["24h", "Last 24 hours"], ["7d", "Last 7 days"], ["30d", "Last 30 days"]];
const HOURS = { "1h": 1, "24h": 24, "7d": 168, "30d": 720 };

export default function Executions() {
  const { query } = usePlace();
  const key = query.toString();
  const executions = useResource((signal) => load(new URLSearchParams(key), signal), [key], { facts: ["tocsin.execution."], every: EVERY_MS });
  const shown = useMemo(() => executions.data && columns(executions.data.names, executions.reload), [executions.data]);
  return html`<${Page} title="Executions" aside=${executions.data && html`<span class="soft numeric">${count(executions.data.page.total)}</span>`}>
    <${Filters} query=${query} jobName=${executions.data?.names.get(query.get("job_id"))} />
    <${Card} flush>
      <${Awaited} of=${executions} lines=${10}>${({ page }) => html`<${Listed} page=${page} offset=${offsetOf(query)} what="executions" none=${html`<${Nothing} query=${query} />`}>
        <${Table} isStale=${executions.isStale} label="Executions" rows=${page.items} rowKey=${({ id }) => id} columns=${shown} /></${Listed}>`}</${Awaited}>
    </${Card}>
  </${Page}>`;
}

async function load(query, signal) {
  const page = await api.executions.list({ ...conditionsOf(query), limit: PAGE_SIZE, offset: offsetOf(query) }, signal);
  const jobs = page.items.map((each) => each.job_id);
  const names = await jobNames(query.get("job_id") ? [...jobs, query.get("job_id")] : jobs);
  return { page, names };
}

const offsetOf = (query) => Number(query.get("offset") ?? 0);

function conditionsOf(query) {
  const hours = HOURS[query.get("within")];
  return {
    status: query.getAll("status"),
    origin: query.get("origin"),
    job_id: query.get("job_id"),
    event_id: query.get("event_id"),
    scheduled_after: hours ? new Date(serverNow() - hours * 36e5).toISOString() : query.get("scheduled_after"),
    scheduled_before: query.get("scheduled_before"),
  };
}

const NARROWING = ["status", "origin", "job_id", "event_id", "within", "scheduled_after", "scheduled_before"];
const isNarrowed = (query) => NARROWING.some((name) => query.has(name));

function Filters({ query, jobName }) {
  const statuses = query.getAll("status");
  const narrow = (changes) => setQuery({ ...changes, offset: null });
  const toggle = (status) => narrow({ status: statuses.includes(status) ? statuses.filter((each) => each !== status) : [...statuses, status] });
  const chosen = [["job_id", "job", jobName], ["event_id", "event", null], ["scheduled_after", "from", instant(query, "scheduled_after")], ["scheduled_before", "before", instant(query, "scheduled_before")]].filter(([name]) => query.has(name));
  return html`<div class="filters">
    <div class="row is-tight" role="group" aria-label="Status">${EXECUTION_STATUSES.map((status) => html`<button key=${status} type="button" class="button is-small" aria-pressed=${String(statuses.includes(status))} onClick=${() => toggle(status)}><${Mark} status=${status} />${wordOf(status)}</button>`)}</div>
    <${Pick} label="Made by" options=${ORIGINS} value=${query.get("origin") ?? ""} onPick=${(origin) => narrow({ origin })} />
    <${Pick} label="Scheduled within" options=${SPANS} value=${query.get("within") ?? ""} onPick=${(within) => narrow({ within, scheduled_after: null, scheduled_before: null })} />
    ${isNarrowed(query) && html`<div class="row is-tight">${chosen.map(([name, word, called]) => html`<button key=${name} type="button" class="chip" onClick=${() => narrow({ [name]: null })} aria-label=${`Without ${word} ${called ?? query.get(name)}`}>
      <span class="soft">${word}</span> ${called ?? shortId(query.get(name))}<${Icon} name="close" size=${12} /></button>`)}
      <${Button} tone="quiet" size="small" onClick=${() => narrow(Object.fromEntries(NARROWING.map((name) => [name, null])))}>Clear filters</${Button}></div>`}
  </div>`;
}

/** An instant of the address as one reads it; what is none is shown as it stands. */
function instant(query, name) {
  const at = Date.parse(query.get(name) ?? "");
  return Number.isNaN(at) ? query.get(name) : absolute(at, { seconds: true });
}

const Pick = ({ label, options, value, onPick }) => html`<select class="input is-fit" aria-label=${label} onChange=${(event) => onPick(event.currentTarget.value)}>${options.map(([each, word]) => html`<option value=${each} selected=${each === value}>${word}</option>`)}</select>`;

function Nothing({ query }) {
  if (isNarrowed(query)) {
    return html`<${Empty} icon="search" title="No execution matches" text="Every filter must hold. Retention removes executions after a time."><${Button} href="/executions">Show all executions</${Button}></${Empty}>`;
  }
  return html`<${Empty} icon="executions" title="Nothing has run yet" text="Each fire of a job leaves a record here: when it was due, when it ran, and how it ended."><${Button} tone="primary" icon="plus" href="/jobs/new">New job</${Button}></${Empty}>`;
}
