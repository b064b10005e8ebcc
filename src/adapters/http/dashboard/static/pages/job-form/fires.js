// The next fires of a schedule as it is typed, in words, and how they differ from those of before.
import { html, useEffect, useState } from "../../lib/html.js";
import { api } from "../../lib/api.js";
import { useResource } from "../../lib/resource.js";
import { absolute, day, differs, isZoned, known, timeOfDay, weekday, zoneOf } from "../../lib/time.js";
import { Icon } from "../../ui/icons.js";
import { Relative } from "../../ui/when.js";

const FIRES = 10;
const PAUSE_MS = 250;

/** `timing` as the node takes it, `before` that of the job as it is, with its id while it fires, or null. `onWrong(problem)` hears of a schedule that cannot be. */
export function Fires({ timing, before, onWrong }) {
  const settled = useSettled(timing);
  const { type, schedule, timezone } = settled;
  const wanted = type !== "event";
  const next = useResource(wanted ? (signal) => preview(settled, signal) : null, [schedule, timezone, type]);
  // The times that are there are of the zone that was asked about, whatever is typed by now.
  const zone = next.data?.zone;
  const old = useResource(before?.schedule ? (signal) => fired(before, signal) : null, [before?.schedule, before?.timezone]);
  useEffect(() => onWrong(wanted ? next.problem : null), [next.problem, wanted]);
  if (!wanted) return null;
  const isChanged = before?.schedule && (before.schedule !== schedule || before.timezone !== timezone);
  return html`<div class="fires">
    ${next.data && !next.problem && html`<p class="fires-words" role="status"><${Icon} name="calendar" /><strong>${next.data.description}</strong>${zone !== "UTC" && isZoned(settled) && html`<span class="soft">${zone}</span>`}</p>`}
    ${next.problem ? html`<p class="soft">The next fires show here once the schedule can be read.</p>`
      : next.data && isChanged && old.data ? html`<${Difference} before=${old.data.fires} after=${next.data.fires} zone=${zone} />`
      : next.data && html`<${Times} label="Next fires" fires=${next.data.fires} zone=${zone} />`}
  </div>`;
}

const preview = async (timing, signal) => ({ ...(await api.schedules.preview({ schedule: timing.schedule, timezone: timing.timezone, count: FIRES }, signal)), zone: zoneOf(timing) });

/** What a job would go on to do: it counts its interval from where it is, a schedule that is new from now. */
const fired = (before, signal) => (before.job ? api.jobs.preview(before.job, { count: FIRES }, signal) : preview(before, signal));

/** A value once it has been left alone for a moment. */
function useSettled(value) {
  const key = JSON.stringify(value);
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(JSON.parse(key)), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [key]);
  return settled;
}

export function Times({ label, fires, zone }) {
  if (fires.length === 0) return html`<p class="soft">It would never fire: no time to come matches.</p>`;
  return html`${known(zone) !== zone && html`<p class="soft">This browser does not know ${zone}: times are in UTC.</p>`}<ol class="times" aria-label=${label}>${fires.map((fire) => html`<li key=${fire.scheduled_at}><${Time} fire=${fire} zone=${zone} /><span class="soft"><${Relative} at=${fire.scheduled_at} /></span></li>`)}</ol>`;
}

function Time({ fire: { scheduled_at, note, skipped }, zone }) {
  return html`<span class=${skipped ? "is-skipped" : ""}><span class="numeric">${weekday(scheduled_at, { zone })} ${day(scheduled_at, { zone })} <strong>${timeOfDay(scheduled_at, { zone, seconds: true })}</strong></span>
    ${differs(scheduled_at, zone) && html` <span class="soft">${absolute(scheduled_at)} here</span>`}${note && html` <span class="tone-timeout">${note}</span>`}</span>`;
}

/** The times of both in one list: those that stay, those that come, and those that go. */
function Difference({ before, after, zone }) {
  const old = new Set(before.map(({ scheduled_at }) => scheduled_at));
  const fresh = new Set(after.map(({ scheduled_at }) => scheduled_at));
  const last = [before.at(-1)?.scheduled_at, after.at(-1)?.scheduled_at].filter(Boolean).sort()[0] ?? "";
  // Behind the last fire that is known of before, nobody can tell what is new.
  const known = before.length < FIRES ? null : before.at(-1).scheduled_at;
  const markOf = (at) => (old.has(at) ? "stays" : known && at > known ? "later" : "new");
  const gone = before.filter(({ scheduled_at }) => !fresh.has(scheduled_at)).map((fire) => ({ fire, mark: "goes" }));
  const kept = after.map((fire) => ({ fire, mark: markOf(fire.scheduled_at) }));
  const all = [...gone, ...kept].sort((a, b) => a.fire.scheduled_at.localeCompare(b.fire.scheduled_at));
  const shown = all.filter(({ fire }) => fire.scheduled_at <= last || fresh.has(fire.scheduled_at));
  return html`<ol class="times is-difference" aria-label="Fires before and after">${shown.map(({ fire, mark }) => html`<li key=${fire.scheduled_at} class=${`is-${mark}`}>
    <span class="times-mark">${{ new: "+ new", goes: "− goes", stays: "= stays", later: "… then" }[mark]}</span><${Time} fire=${fire} zone=${zone} /></li>`)}</ol>`;
}
