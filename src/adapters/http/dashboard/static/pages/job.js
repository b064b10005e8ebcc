// One job: what it does, when it fired and will fire, how it has been doing, who changed it, and all that can be done to it.
import { html } from "../lib/html.js";
import { api, learnNames } from "../lib/api.js";
import { NONE, count, duration, percent, plural } from "../lib/format.js";
import { useResource } from "../lib/resource.js";
import { setQuery, usePlace } from "../lib/router.js";
import { zoneOf } from "../lib/time.js";
import { Card, Code, Figure, Page } from "../ui/page.js";
import { Awaited, Failure, Loading } from "../ui/states.js";
import { Badge, Tag } from "../ui/status.js";
import { Absolute, Relative } from "../ui/when.js";
import { About } from "./job/about.js";
import { Actions, RunNow } from "./job/actions.js";
import { Calendar } from "./job/calendar.js";
import { Changes } from "./job/changes.js";
import { Durations } from "./job/durations.js";
import { Edit } from "./job/edit.js";
import { Touching } from "./job/handlers.js";
import { History } from "./job/history.js";
import { Times } from "./job-form/fires.js";

const FIRES = 8;
const EVERY_MS = 30000;

export default function Job({ params: { id } }) {
  const { query } = usePlace();
  const wants = (fact) => fact.data.job_id === id;
  const job = useResource((signal) => api.jobs.get(id, signal), [id], { facts: ["tocsin.job.", "tocsin.execution."], wants, every: EVERY_MS });
  if (job.data?.id !== id) {
    return html`<${Page} title="Job" above=${[{ label: "Jobs", href: "/jobs" }]}>${job.problem ? html`<${Failure} problem=${job.problem} onRetry=${job.reload} />` : html`<${Loading} lines=${8} />`}</${Page}>`;
  }
  learnNames([job.data]);
  if (query.has("edit")) return html`<${Edit} job=${job.data} onDone=${job.reload} />`;
  return html`<${Shown} job=${job.data} problem=${job.problem} reload=${job.reload} query=${query} />`;
}

function Shown({ job, problem, reload, query }) {
  const { id, name, status, tags, description, payload } = job;
  const facts = { facts: ["tocsin.execution.", "tocsin.job."], wants: (fact) => fact.data.job_id === id };
  const stats = useResource((signal) => api.jobs.stats(id, signal), [id], facts);
  const preview = useResource(job.next_run ? (signal) => api.jobs.preview(id, { count: FIRES }, signal) : null, [id, job.version, job.next_run]);
  return html`<${Page} title=${name} above=${[{ label: "Jobs", href: "/jobs" }]}
    aside=${html`<${Badge} status=${status} />${tags.map((tag) => html`<${Tag} name=${tag} href=${`/jobs?tag=${encodeURIComponent(tag)}`} />`)}`}
    actions=${html`<${Actions} job=${job} reload=${reload} onRun=${() => setQuery({ run: "1" }, { replace: false })} onEdit=${() => setQuery({ edit: "1" }, { replace: false })} />`}>
    ${problem && html`<${Failure} problem=${problem} onRetry=${reload} />`}
    ${description && html`<p class="lead">${description}</p>`}
    ${stats.problem && html`<${Failure} problem=${stats.problem} title="Its figures did not come" onRetry=${stats.reload} />`}
    <${Figures} job=${job} stats=${stats.data} />
    <div class="detail">
      <div class="stack">
        <${Calendar} job=${job} month=${query.get("month")} />
        <${Durations} job=${job} stats=${stats.data} />
        <${Changes} job=${job} />
      </div>
      <div class="stack">
        <${About} job=${job} words=${preview.data?.description} />
        ${job.next_run && html`<${Card} title="Next fires"><${Awaited} of=${preview}>${({ fires }) => html`<${Times} label="Next fires" fires=${fires} zone=${zoneOf(job)} />`}</${Awaited}></${Card}>`}
        ${stats.data?.failure_patterns.length > 0 && html`<${Patterns} patterns=${stats.data.failure_patterns} />`}
        <${Touching} job=${job} />
        ${payload !== null && html`<${Card} title="Payload"><${Code} value=${payload} label="JSON of the payload" /></${Card}>`}
      </div>
    </div>
    <${History} job=${job} query=${query} />
    ${query.has("run") && status !== "cancelled" && html`<${RunNow} job=${job} onClose=${() => setQuery({ run: null })} />`}
  </${Page}>`;
}

const NO_RUN = { paused: "while paused", cancelled: "never again", completed: "it is done", failed: "it has failed" };

function Figures({ job, stats }) {
  const { next_run, last_run, status, type, consecutive_failures: failures } = job;
  return html`<dl class="figures is-five">
    <${Figure} name="Next run" value=${next_run ? html`<${Relative} at=${next_run} zone=${job.timezone} />` : NONE} note=${next_run ? html`<${Absolute} at=${next_run} zone=${job.timezone} />` : (NO_RUN[status] ?? (type === "event" ? "on demand" : ""))} />
    <${Figure} name="Last run" value=${last_run ? html`<${Relative} at=${last_run} />` : "never"} note=${failures > 0 ? html`<span class="tone-failed">${plural(failures, "failure")} in a row</span>` : plural(job.executions_count, "run")} />
    <${Figure} name="Succeeded" value=${percent(stats?.success_rate)} note=${stats && `${count(stats.successful)} of ${count(stats.total_executions)}`} />
    <${Figure} name="Takes" value=${duration(stats?.p50_duration_ms)} note=${stats && `p95 ${duration(stats.p95_duration_ms)} · p99 ${duration(stats.p99_duration_ms)}`} />
    <${Figure} name="Failures" value=${stats ? count(stats.failed + stats.timeout) : NONE} note=${stats && `${count(stats.timeout)} timed out · ${count(stats.skipped)} skipped`} />
  </dl>`;
}

function Patterns({ patterns }) {
  return html`<${Card} title="How it fails"><ul class="patterns">${patterns.map(({ error_type, count: times, last_seen, last_error }) => html`<li key=${error_type}>
    <p class="row is-apart"><code class="tone-failed">${error_type}</code><span class="soft">${count(times)} ×, <${Relative} at=${last_seen} /></span></p><p class="soft">${last_error}</p></li>`)}</ul></${Card}>`;
}
