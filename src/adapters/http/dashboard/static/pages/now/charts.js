// How much was done and how late it began, over a period.
import { html, useEffect, useMemo } from "../../lib/html.js";
import { api } from "../../lib/api.js";
import { brief, count, duration, percent } from "../../lib/format.js";
import { useResource } from "../../lib/resource.js";
import { navigate } from "../../lib/router.js";
import { Chart, drawing } from "../../ui/chart.js";
import { Card } from "../../ui/page.js";
import { Awaited } from "../../ui/states.js";

const REFRESH_MS = 15000;
const ENDS = [["completed", "succeeded", "success"], ["failed", "failed", "failed"], ["timeout", "timed out", "timeout"], ["skipped", "skipped", "skipped"], ["cancelled", "cancelled", "quiet"]];

export function Charts({ period }) {
  const series = useResource((signal) => api.series(period, signal), [period], { facts: period === "1h" ? ["tocsin.execution."] : [], every: REFRESH_MS });
  // What draws them comes while the node counts; should it not, the charts say so.
  useEffect(() => void drawing().catch(() => null), []);
  return html`<div class="charts">
    <${Card} title="Throughput" aside=${bucketWords(series.data)}><${Awaited} of=${series} lines=${6}>${(data) => html`<${Throughput} data=${data} />`}</${Awaited}></${Card}>
    <${Card} title="Lateness" aside="start after nominal time"><${Awaited} of=${series} lines=${6}>${(data) => html`<${Lateness} data=${data} />`}</${Awaited}></${Card}>
  </div>`;
}

// Of very much the node counts a part, and says which.
const bucketWords = (data) => data && `per ${duration(data.bucket_ms)}${data.share < 1 ? `, estimated from ${percent(data.share)}` : ""} · click to see them`;
const instants = (data) => data.items.map(({ at }) => Date.parse(at) / 1000);

function Throughput({ data }) {
  const at = useMemo(() => instants(data), [data]);
  const all = useMemo(() => ENDS.map(([field, name, tone]) => ({ name, tone, kind: "bars", values: data.items.map((item) => item[field]) })), [data]);
  // What never happened needs no colour in the legend; that things succeed and fail is always told.
  const shown = useMemo(() => all.filter(({ values }, index) => index < 2 || values.some(Boolean)), [all]);
  const sums = all.map(({ name, values }) => `${count(values.reduce((sum, value) => sum + value, 0))} ${name}`);
  const pick = (index) => {
    const from = Date.parse(data.items[index].at);
    const query = new URLSearchParams({ scheduled_after: new Date(from).toISOString(), scheduled_before: new Date(from + data.bucket_ms).toISOString() });
    navigate(`/executions?${query}`);
  };
  return html`<${Chart} label=${`Executions over time: ${sums.join(", ")}`} at=${at} series=${shown} format=${brief} onPick=${pick} />`;
}

function Lateness({ data }) {
  const at = useMemo(() => instants(data), [data]);
  const values = (field) => data.items.map((item) => item[field]);
  const shown = useMemo(() => [
    { name: "p50", tone: "running", kind: "line", values: values("lateness_p50_ms") },
    { name: "p99", tone: "accent", kind: "line", values: values("lateness_p99_ms") },
  ], [data]);
  const most = Math.max(0, ...values("lateness_p99_ms").filter((value) => value !== null));
  return html`<${Chart} label=${`Lateness over time, p50 and p99; the p99 was at most ${duration(most)}`} at=${at} series=${shown} format=${duration} least=${100} />`;
}
