// What a job does, in words.
import { html } from "../../lib/html.js";
import { duration, plural } from "../../lib/format.js";
import { isZoned } from "../../lib/time.js";
import { Card, Facts } from "../../ui/page.js";
import { Absolute } from "../../ui/when.js";

const OVERLAPS = {
  skip: "skips the later one",
  queue_one: "keeps one waiting",
  queue_all: "keeps all of them waiting",
  allow_all: "runs them side by side",
};
const MISFIRES = { run_once: "run once, for all of them", run_all: "are run, each of them", skip: "are left out" };

export function About({ job, words }) {
  const { id, type, schedule, timezone, key, max_retries, retry_delay_ms, backoff, timeout_ms, overlap_policy, concurrency, misfire_policy, priority, start_date, end_date, max_executions, created_at, created_by, version } = job;
  const retries = max_retries ? `${plural(max_retries, "retry", "retries")}, ${backoff === "fixed" ? "each" : "the first"} after ${duration(retry_delay_ms)}` : "it is not run again";
  const items = [
    ["Does", html`<${Handler} job=${job} />`],
    ["Fires", type === "event" ? "on demand: an event handler or a person starts it" : (words ?? html`<${Planned} job=${job} />`)],
    ["Schedule", type === "event" || type === "one_time" ? null : html`<code>${schedule}</code>`],
    ["Zone", isZoned(job) ? timezone : null],
    ["From", start_date && html`<${Absolute} at=${start_date} />`],
    ["Until", end_date && html`<${Absolute} at=${end_date} />`],
    ["At most", max_executions && plural(max_executions, "run")],
    ["May take", duration(timeout_ms)],
    ["On failure", retries],
    ["If it still runs", overlap_policy === "allow_all" ? OVERLAPS.allow_all : html`${concurrency > 1 ? `with ${concurrency} at once ` : ""}${OVERLAPS[overlap_policy]}`],
    ["Missed fires", MISFIRES[misfire_policy]],
    ["Priority", String(priority)],
    ["Key", key && html`<code>${key}</code>`],
    ["Made", html`<${Absolute} at=${created_at} />${created_by && ` by ${created_by}`}`],
    ["Version", String(version)],
    ["Id", html`<code>${id}</code>`],
  ];
  return html`<${Card} title="What it does"><${Facts} items=${items} /></${Card}>`;
}

function Planned({ job: { type, schedule, next_run } }) {
  if (type === "one_time") return html`once, <${Absolute} at=${next_run ?? schedule} />`;
  return html`<code>${schedule}</code>`;
}

function Handler({ job: { handler_type, handler_name, payload } }) {
  if (handler_type === "http") return html`calls <code>${payload?.method ?? "GET"} ${payload?.url}</code>`;
  if (handler_type === "command") return html`runs <code>${payload?.shell ?? payload?.argv?.join(" ")}</code>`;
  return html`runs <code>${handler_name}</code>`;
}
