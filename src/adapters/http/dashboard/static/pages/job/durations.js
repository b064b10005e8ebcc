// How long the last runs took, each a point that leads to its execution.
import { html, useMemo } from "../../lib/html.js";
import { api } from "../../lib/api.js";
import { duration, plural } from "../../lib/format.js";
import { useResource } from "../../lib/resource.js";
import { navigate } from "../../lib/router.js";
import { Chart } from "../../ui/chart.js";
import { Card } from "../../ui/page.js";
import { Awaited } from "../../ui/states.js";

const RUNS = 100;
const ENDS = [["success", "Succeeded"], ["failed", "Failed"], ["timeout", "Timed out"]];

export function Durations({ job, stats }) {
  const outcomes = useResource((signal) => api.jobs.outcomes([job.id], RUNS, signal), [job.id], { facts: ["tocsin.execution."], wants: (fact) => fact.data.job_id === job.id });
  const runs = useMemo(() => (outcomes.data?.items[0]?.outcomes ?? []).filter(({ duration_ms, status }) => duration_ms !== null && ENDS.some(([end]) => end === status)).reverse(), [outcomes.data]);
  const at = useMemo(() => runs.map(({ scheduled_at }) => Date.parse(scheduled_at) / 1000), [runs]);
  const series = useMemo(() => ENDS.filter(([end]) => runs.some(({ status }) => status === end)).map(([end, name]) => ({ name, tone: end, kind: "points", values: runs.map(({ status, duration_ms }) => (status === end ? duration_ms : null)) })), [runs]);
  return html`<${Card} title="Durations" aside=${stats && runs.length > 1 && html`<span class="numeric">${duration(stats.min_duration_ms)} to ${duration(stats.max_duration_ms)} · p95 ${duration(stats.p95_duration_ms)}</span>`}>
    <${Awaited} of=${outcomes}>${() => runs.length < 2
      ? html`<p class="soft">After two runs there is something to plot here.</p>`
      : html`<${Chart} label=${`How long the last ${plural(runs.length, "run")} took; p50 ${duration(stats?.p50_duration_ms)}`} at=${at} series=${series} format=${duration} onPick=${(index) => navigate(`/executions/${runs[index].execution_id}`)} />`}</${Awaited}>
  </${Card}>`;
}
