// A month of a job: what became of the fires of each day, and how many are to come.
import { html } from "../../lib/html.js";
import { api, serverNow } from "../../lib/api.js";
import { brief, count } from "../../lib/format.js";
import { useResource } from "../../lib/resource.js";
import { setQuery } from "../../lib/router.js";
import { timeOfDay, zoneOf } from "../../lib/time.js";
import { clock } from "../../lib/preferences.js";
import { useStore } from "../../lib/store.js";
import { Button } from "../../ui/button.js";
import { Card } from "../../ui/page.js";
import { Awaited } from "../../ui/states.js";
import { Mark, toneOf, wordOf } from "../../ui/status.js";

const ORDER = ["success", "failed", "timeout", "skipped", "cancelled", "running", "pending"];
const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;

export function Calendar({ job, month: given }) {
  useStore(clock);
  const zone = zoneOf(job);
  const today = dateIn(serverNow(), zone);
  const month = MONTH.test(given ?? "") ? given : today.slice(0, 7);
  const days = useResource((signal) => api.jobs.calendar(job.id, { month, timezone: zone }, signal), [job.id, month, zone, job.version], {
    facts: ["tocsin.execution."],
    wants: (fact) => fact.data.job_id === job.id,
  });
  const move = (step) => setQuery({ month: moved(month, step) === today.slice(0, 7) ? null : moved(month, step) });
  const named = new Intl.DateTimeFormat("en", { month: "long", year: "numeric", timeZone: "UTC" }).format(new Date(`${month}-01T00:00:00Z`));
  return html`<${Card} title="Calendar" aside=${html`<span>${zone}</span>
    <span class="row is-tight"><${Button} size="small" tone="quiet" icon="left" label="The month before" onClick=${() => move(-1)} />
    <strong class="month-name" aria-live="polite">${named}</strong>
    <${Button} size="small" tone="quiet" icon="right" label="The month after" onClick=${() => move(1)} /></span>`}>
    <${Awaited} of=${days} lines=${6}>${(answer) => html`<${Month} days=${answer.days} today=${today} zone=${zone} label=${named} isStale=${answer.month !== month} />`}</${Awaited}>
  </${Card}>`;
}

function Month({ days, today, zone, label, isStale }) {
  const before = days.length ? (new Date(`${days[0].date}T00:00:00Z`).getUTCDay() + 6) % 7 : 0;
  const cells = [...Array(before).fill(null), ...days];
  const weeks = Array.from({ length: Math.ceil(cells.length / 7) }, (_, week) => Array.from({ length: 7 }, (__, day) => cells[week * 7 + day] ?? null));
  return html`<table class=${`month ${isStale ? "is-stale" : ""}`} aria-label=${`Fires in ${label}`}>
    <thead><tr>${DAYS.map((name) => html`<th key=${name} scope="col">${name}</th>`)}</tr></thead>
    <tbody>${weeks.map((week, row) => html`<tr key=${row}>${week.map((day, index) => (day ? html`<${Day} key=${day.date} day=${day} isToday=${day.date === today} zone=${zone} />` : html`<td key=${index} class="is-outside"></td>`))}</tr>`)}</tbody>
  </table>`;
}

function Day({ day: { date, outcomes, fires, first_fire }, isToday, zone }) {
  const counted = ORDER.filter((status) => outcomes[status]).map((status) => [status, outcomes[status]]);
  const total = counted.reduce((sum, [, amount]) => sum + amount, 0);
  const words = [...counted.map(([status, amount]) => `${count(amount)} ${wordOf(status)}`), fires && `${count(fires)} to come${first_fire ? `, first ${timeOfDay(first_fire, { zone })}` : ""}`].filter(Boolean).join(", ");
  return html`<td class=${isToday ? "is-today" : ""} aria-current=${isToday ? "date" : undefined} title=${words || "nothing"}>
    <span class="day-number">${Number(date.slice(8))}</span>
    <span class="unseen">${words || "nothing"}</span>
    <span class="day-inside" aria-hidden="true">
      ${total > 0 && html`<span class="day-bar">${counted.map(([status, amount]) => html`<i key=${status} class=${`fill-${toneOf(status)}`} style=${{ flexGrow: amount }}></i>`)}</span>`}
      ${counted.slice(0, 2).map(([status, amount]) => html`<span key=${status} class=${`day-count tone-${toneOf(status)}`}><${Mark} status=${status} />${brief(amount)}</span>`)}
      ${fires > 0 && html`<span class="day-count is-coming">${fires === 1 && first_fire ? timeOfDay(first_fire, { zone }) : html`<i></i>${brief(fires)}`}</span>`}
    </span>
  </td>`;
}

const dateIn = (at, zone) => new Intl.DateTimeFormat("en-CA", { timeZone: zone, year: "numeric", month: "2-digit", day: "2-digit" }).format(new Date(at));

function moved(month, step) {
  const [year, number] = month.split("-").map(Number);
  return new Date(Date.UTC(year, number - 1 + step, 1)).toISOString().slice(0, 7);
}
