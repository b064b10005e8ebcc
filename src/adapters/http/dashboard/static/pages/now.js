// What happens now, at one glance: what runs and waits, what is due within the hour, what failed, and who does it.
import { html } from "../lib/html.js";
import { api } from "../lib/api.js";
import { NONE, brief, count, duration, parts, percent, plural } from "../lib/format.js";
import { useResource } from "../lib/resource.js";
import { setQuery, usePlace } from "../lib/router.js";
import { Choice } from "../ui/form.js";
import { Page } from "../ui/page.js";
import { Failure } from "../ui/states.js";
import { Charts } from "./now/charts.js";
import { Failures } from "./now/failures.js";
import { Fleet, Health } from "./now/fleet.js";
import { NextHour } from "./now/next-hour.js";
import { Running } from "./now/running.js";

export const PERIODS = [["1h", "1 hour"], ["24h", "24 hours"], ["7d", "7 days"], ["30d", "30 days"]];
const METRICS_MS = 10000;

export default function Now() {
  const period = periodOf(usePlace().query.get("period"));
  const choose = (value) => setQuery({ period: value === "24h" ? null : value });
  return html`<${Page} title="Now" actions=${html`<${Choice} label="Period of figures and charts" value=${period} onChange=${choose} options=${PERIODS} />`}>
    <${Figures} period=${period} />
    <div class="now">
      <div class="stack">
        <${NextHour} />
        <${Charts} period=${period} />
        <${Running} />
        <${Failures} />
      </div>
      <div class="stack"><${Health} /><${Fleet} /></div>
    </div>
  </${Page}>`;
}

const periodOf = (given) => (PERIODS.some(([each]) => each === given) ? given : "24h");

function Figures({ period }) {
  // With the period that they are of, as another may be chosen before its figures are there.
  const metrics = useResource(async (signal) => ({ of: period, ...(await api.metrics(period, signal)) }), [period], { facts: ["tocsin."], every: METRICS_MS });
  const { of = period, queue, system, performance, executions, jobs } = metrics.data ?? {};
  const named = PERIODS.find(([each]) => each === of)[1];
  const failed = (executions?.failed ?? 0) + (executions?.timeout ?? 0);
  return html`${metrics.problem && html`<${Failure} problem=${metrics.problem} onRetry=${metrics.reload} />`}
  <dl class=${`figures ${metrics.isStale || metrics.problem ? "is-stale" : ""}`}>
    <${Figure} name="Running" value=${count(queue?.running)} href="/executions?status=running"
      note=${system ? `of ${count(system.capacity)} at once` : NONE} share=${system?.capacity ? queue.running / system.capacity : 0} />
    <${Figure} name="Ready" value=${count(queue?.ready)} href="/executions?status=pending"
      note=${queue ? (queue.ready ? `oldest ${parts(Math.round(queue.oldest_ready_seconds))}` : `${count(queue.waiting + queue.retrying)} waiting or retrying`) : NONE}
      tone=${queue?.oldest_ready_seconds > 60 ? "failed" : null} />
    <${Figure} name="Active jobs" value=${count(jobs?.active)} href="/jobs?status=active" note=${jobs ? `${count(jobs.paused ?? 0)} paused` : NONE} />
    <${Figure} name=${`Ran in ${named}`} value=${brief(executions && ended(executions))} href=${`/executions?within=${of}`}
      note=${executions ? `${plural(failed, "failure")}` : NONE} tone=${failed ? "failed" : null} noteHref=${failed ? `/executions?status=failed&status=timeout&within=${of}` : null} />
    <${Figure} name="Succeeded" value=${percent(performance?.success_rate)} note=${`p50 took ${duration(performance?.p50_duration_ms)}`} />
    <${Figure} name="Lateness p99" value=${duration(performance?.p99_lateness_ms)} note=${`p50 ${duration(performance?.p50_lateness_ms)}`} />
  </dl>`;
}

const ended = (executions) => ["success", "failed", "timeout"].reduce((sum, status) => sum + (executions[status] ?? 0), 0);

function Figure({ name, value, note, href, tone, share, noteHref }) {
  return html`<div class="figure"><dt>${name}</dt>
    <dd class="stat-value">${href ? html`<a href=${href}>${value}</a>` : value}</dd>
    <dd class=${`figure-note ${tone ? `tone-${tone}` : "soft"}`}>${noteHref ? html`<a href=${noteHref}>${note}</a>` : note}</dd>
    ${share !== undefined && html`<dd class="figure-bar" aria-hidden="true"><i style=${{ width: `${Math.min(100, share * 100)}%` }}></i></dd>`}
  </div>`;
}
