// The fires of the coming hour on one line, and those of the jobs that are due first each on a line of its own.
import { html } from "../../lib/html.js";
import { api, learnNames } from "../../lib/api.js";
import { count, plural } from "../../lib/format.js";
import { useResource } from "../../lib/resource.js";
import { timeOfDay } from "../../lib/time.js";
import { Button } from "../../ui/button.js";
import { Card } from "../../ui/page.js";
import { Awaited, Empty } from "../../ui/states.js";
import { hint } from "../../ui/tip.js";
import { Relative, useNow } from "../../ui/when.js";

const HOUR_MS = 3600000;
const MINUTE_MS = 60000;
const REFRESH_MS = 20000;
const LANES = 7;
const SHOWN_NAMES = 5;
const LIMIT = 1000;
const HEIGHT = 40;

export function NextHour() {
  const upcoming = useResource((signal) => api.jobs.upcoming({ within_ms: HOUR_MS, limit: LIMIT }, signal), [], { facts: ["tocsin.job."], every: REFRESH_MS });
  const data = upcoming.data;
  const aside = data && data.items.length > 0 && (data.truncated ? `the first ${count(data.items.length)} fires` : plural(data.items.length, "fire"));
  return html`<${Card} title="Next hour" aside=${aside}><${Awaited} of=${upcoming} lines=${5}>${({ items, truncated }) => html`<${Hour} items=${items} truncated=${truncated} />`}</${Awaited}></${Card}>`;
}

function Hour({ items, truncated }) {
  const now = useNow();
  const fires = items.map((fire) => ({ ...fire, at: Date.parse(fire.scheduled_at) })).filter(({ at }) => at > now - MINUTE_MS && at <= now + HOUR_MS);
  if (fires.length === 0) {
    return html`<${Empty} icon="clock" title="Nothing fires within the hour" text="What fires later is on the page of each job, in its calendar.">
      <${Button} href="/jobs?sort=next_run">Jobs by their next run</${Button}><${Button} href="/jobs/new" tone="primary" icon="plus">New job</${Button}></${Empty}>`;
  }
  learnNames(items);
  return html`<div class="hour">
    <${Minutes} fires=${fires} now=${now} known=${truncated ? fires.at(-1).at : Infinity} />
    <${Scale} now=${now} />
    <ol class="lanes">${lanesOf(fires).map((lane) => html`<${Lane} key=${lane[0].job_id} fires=${lane} now=${now} />`)}</ol>
  </div>`;
}

/** The fires of each job, of those jobs that are due first. */
function lanesOf(fires) {
  const lanes = new Map();
  for (const fire of fires) {
    if (!lanes.has(fire.job_id)) {
      if (lanes.size === LANES) continue;
      lanes.set(fire.job_id, []);
    }
    lanes.get(fire.job_id).push(fire);
  }
  return [...lanes.values()];
}

/** How many fires each minute has, as bars. */
function Minutes({ fires, now, known }) {
  const start = Math.floor(now / MINUTE_MS) * MINUTE_MS;
  const minutes = Array.from({ length: 61 }, () => []);
  for (const fire of fires) minutes[Math.max(0, Math.floor((fire.at - start) / MINUTE_MS))]?.push(fire);
  const most = Math.max(...minutes.map((each) => each.length));
  const left = (index) => ((start + index * MINUTE_MS - now) / HOUR_MS) * 1000;
  const bar = (each, index) => {
    const height = Math.max(3, (each.length / most) * (HEIGHT - 2));
    return `M${(left(index) + 1.5).toFixed(2)} ${HEIGHT}h13.5v-${height.toFixed(2)}h-13.5z`;
  };
  const over = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const at = now + ((event.clientX - box.left) / box.width) * HOUR_MS;
    const index = Math.floor((at - start) / MINUTE_MS);
    hint(minutes[index]?.length ? told(minutes[index], start + index * MINUTE_MS) : null, event.clientX, box.top);
  };
  const label = `${plural(fires.length, "fire")} in the next hour, at most ${count(most)} in a minute; next ${fires[0].name} at ${timeOfDay(fires[0].at, { seconds: true })}`;
  return html`<svg class="minutes" viewBox=${`0 0 1000 ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${label} onPointerMove=${over} onPointerLeave=${() => hint(null)}>
    ${known < now + HOUR_MS && html`<rect class="unknown" x=${((known - now) / HOUR_MS) * 1000} width="1000" height=${HEIGHT} />`}
    <path class="minutes-bars" d=${minutes.map((each, index) => (each.length ? bar(each, index) : "")).join("")} />
  </svg>`;
}

function told(fires, at) {
  const names = [...new Set(fires.map(({ name }) => name))];
  const more = names.length - SHOWN_NAMES;
  return html`<strong>${timeOfDay(at)}</strong> ${plural(fires.length, "fire")}${names.slice(0, SHOWN_NAMES).map((name) => html`<br />${name}`)}${more > 0 && html`<br />and ${plural(more, "more job")}`}`;
}

function Scale({ now }) {
  const first = Math.ceil(now / (10 * MINUTE_MS)) * 10 * MINUTE_MS;
  const marks = Array.from({ length: 6 }, (_, index) => first + index * 10 * MINUTE_MS).filter((at) => at > now + MINUTE_MS && at < now + HOUR_MS - MINUTE_MS);
  return html`<div class="scale" aria-hidden="true">${marks.map((at) => html`<span class="numeric" style=${{ left: `${((at - now) / HOUR_MS) * 100}%` }}>${timeOfDay(at)}</span>`)}</div>`;
}

function Lane({ fires, now }) {
  const { job_id, name } = fires[0];
  // Between two looks some fires pass.
  const next = fires.find(({ at }) => at >= now) ?? fires.at(-1);
  const ticks = fires.map(({ at }) => `M${(Math.max(0, (at - now) / HOUR_MS) * 1000).toFixed(1)} 4v8`).join("");
  return html`<li class="lane"><a class="cut" href=${`/jobs/${job_id}`}>${name}</a>
    <svg viewBox="0 0 1000 16" preserveAspectRatio="none" aria-hidden="true"><path class="lane-line" d="M0 8H1000" /><path class="lane-ticks" d=${ticks} /></svg>
    <span class="lane-next soft"><${Relative} at=${next.scheduled_at} /></span></li>`;
}
