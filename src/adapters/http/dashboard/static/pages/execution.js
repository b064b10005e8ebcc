// One execution: how it went attempt by attempt, what it logged while one looks, what came of it, and why it is there.
import { html, useRef } from "../lib/html.js";
import { api, jobNames } from "../lib/api.js";
import { NONE, duration, plural, shortId } from "../lib/format.js";
import { useKey } from "../lib/keyboard.js";
import { useResource } from "../lib/resource.js";
import { navigate } from "../lib/router.js";
import { Button } from "../ui/button.js";
import { Card, Code, Figure, Page } from "../ui/page.js";
import { Failure, Loading } from "../ui/states.js";
import { Badge } from "../ui/status.js";
import { doing } from "../ui/toast.js";
import { Absolute, Elapsed, Relative } from "../ui/when.js";
import { About } from "./execution/about.js";
import { cancelExecution } from "./execution/acts.js";
import { Logs } from "./execution/logs.js";
import { Tries } from "./execution/rows.js";
import { TimeLine } from "./execution/time-line.js";

const UNENDED = ["pending", "running"];
const ENDED_BADLY = ["failed", "timeout"];
const EVERY_MS = 10000;

export default function Execution({ params: { id } }) {
  const resource = useResource((signal) => load(id, signal), [id], {
    facts: ["tocsin.execution."],
    wants: (fact) => fact.data.execution_id === id,
    every: EVERY_MS,
  });
  if (resource.data?.execution.id !== id) {
    return html`<${Page} title="Execution" above=${[{ label: "Executions", href: "/executions" }]}>
      ${resource.problem ? html`<${Failure} problem=${resource.problem} onRetry=${resource.reload} />` : html`<${Loading} lines=${8} />`}
    </${Page}>`;
  }
  return html`<${Shown} ...${resource.data} problem=${resource.problem} reload=${resource.reload} />`;
}

async function load(id, signal) {
  const execution = await api.executions.get(id, signal);
  return { execution, name: (await jobNames([execution.job_id])).get(execution.job_id) };
}

function Shown({ execution, name, problem, reload }) {
  const { id, job_id, status, result, payload } = execution;
  // Null is the name of a deleted one; of one whose name did not come nothing is known.
  const called = name === null ? "a deleted job" : name ?? `job ${shortId(job_id)}`;
  const isOver = !UNENDED.includes(status);
  const above = [{ label: "Executions", href: "/executions" }, name === null ? { label: "Deleted job", href: `/executions?job_id=${job_id}` } : { label: called, href: `/jobs/${job_id}` }];
  return html`<${Page} title=${`Execution of ${called}`} above=${above} aside=${html`<${Badge} status=${status} /><code class="soft">${shortId(id)}</code>`} actions=${html`<${Actions} execution=${execution} name=${called} reload=${reload} />`}>
    ${problem && html`<${Failure} problem=${problem} onRetry=${reload} />`}
    <${Figures} execution=${execution} />
    <div class="detail">
      <div class="stack">
        ${execution.error && html`<${Wrong} execution=${execution} />`}
        ${status === "skipped" ? html`<${Skipped} execution=${execution} />` : html`<${TimeLine} execution=${execution} />
        <${Logs} key=${id} execution=${id} isOver=${isOver} attempts=${execution.attempt} />`}
        ${status === "success" && html`<${Card} title="Result">${result === null ? html`<p class="soft">Its handler returned nothing.</p>` : html`<${Code} value=${result} label="JSON of the result" />`}</${Card}>`}
      </div>
      <div class="stack">
        <${About} execution=${execution} />
        <${Card} title="Payload">${payload === null ? html`<p class="soft">It was given nothing.</p>` : html`<${Code} value=${payload} label="JSON of the payload" />`}</${Card}>
      </div>
    </div>
  </${Page}>`;
}

function Actions({ execution: { id, status, job_id }, name, reload }) {
  const isRetrying = useRef(false);
  const retry = async () => {
    if (isRetrying.current) return;
    isRetrying.current = true;
    const made = await doing(() => api.executions.retry(id), `${name} runs again`, "Not retried");
    isRetrying.current = false;
    if (made) navigate(`/executions/${made.id}`);
  };
  const cancel = () => cancelExecution(id, name, reload);
  useKey("r", "Retry this execution", () => ENDED_BADLY.includes(status) && retry());
  return html`<${Button} href=${`/executions?job_id=${job_id}`} icon="executions">All of its job</${Button}>
    ${UNENDED.includes(status) && html`<${Button} tone="danger" icon="cancel" onClick=${cancel}>Cancel</${Button}>`}
    ${ENDED_BADLY.includes(status) && html`<${Button} tone="primary" icon="retry" onClick=${retry}>Retry</${Button}>`}`;
}

function Figures({ execution }) {
  const { scheduled_at, started_at, completed_at, duration_ms, past_attempts, next_retry_at, worker_id, status } = execution;
  const begun = past_attempts.find((past) => past.started_at)?.started_at ?? started_at;
  const late = begun && Date.parse(begun) - Date.parse(scheduled_at);
  return html`<dl class="figures is-five">
    <${Figure} name="Scheduled" value=${html`<${Absolute} at=${scheduled_at} seconds />`} note=${html`<${Relative} at=${scheduled_at} />`} />
    <${Figure} name="Began" value=${begun ? (late < 1 ? "on time" : html`${duration(late)} late`) : "not yet"} note=${begun ? html`<${Absolute} at=${begun} seconds />` : NONE} />
    <${Figure} name="Took" value=${status === "running" ? html`<${Elapsed} since=${started_at} />` : duration(duration_ms)} note=${completed_at && begun ? html`until <${Absolute} at=${completed_at} seconds />` : status === "running" ? "so far" : NONE} />
    <${Figure} name="Attempts" value=${html`<${Tries} execution=${execution} />`} note=${next_retry_at && status === "pending" ? html`next <${Relative} at=${next_retry_at} />` : plural(past_attempts.length, "attempt") + " before"} />
    <${Figure} name="Node" value=${worker_id?.split("#")[0] ?? NONE} note=${worker_id?.split("#")[1] ?? "none took it yet"} />
  </dl>`;
}

function Wrong({ execution: { error, error_type, error_stack } }) {
  return html`<${Card} title="Error" class="is-wrong" aside=${error_type && html`<code>${error_type}</code>`}>
    <p class="error-said">${error}</p>
    ${error_stack && html`<details class="more" open><summary>Where it came from</summary><${Code} value=${error_stack} label="Stack" /></details>`}
  </${Card}>`;
}

const REASONS = {
  overlap: "The execution before it had not ended, and the job lets only one run at a time.",
  misfire: "No node was there to fire it in time, and the job's misfire policy leaves out what is late.",
  window: "It lay outside the time within which the job catches up.",
  calendar: "The job's calendar leaves this time out.",
  concurrency: "As many of its executions ran as the job allows.",
  quota: "The quota was used up.",
  superseded: "A later fire stood for this one.",
  dst_gap: "The wall clock never showed this time: it lay in the hour that summer time left out.",
};

function Skipped({ execution: { skip_reason, covers_count, covers_until } }) {
  return html`<${Card} title="Why it did not run">
    <p>${REASONS[skip_reason] ?? skip_reason}</p>
    ${covers_count > 1 && html`<p class="soft">This record stands for ${plural(covers_count, "fire")} until <${Absolute} at=${covers_until} seconds />.</p>`}
  </${Card}>`;
}
