// Times and lengths of time on a page; all that count do so on one beat.
import { html } from "../lib/html.js";
import { serverNow } from "../lib/api.js";
import { NONE, duration } from "../lib/format.js";
import { clock } from "../lib/preferences.js";
import { createStore, useStore } from "../lib/store.js";
import { absolute, day, differs, full, myZone, relative, timeOfDay } from "../lib/time.js";

const beat = createStore(serverNow());
setInterval(() => document.hidden || beat.set(serverNow()), 1000);

/** The node's now in ms, anew every second. */
export const useNow = () => useStore(beat);

/** An instant as one reads it from here: "in 3 m 20 s", with the whole of it as title. */
export function Relative({ at, zone }) {
  const now = useNow();
  if (!at) return html`<span class="soft">${NONE}</span>`;
  return html`<time datetime=${at} title=${titled(at, zone)}>${relative(at, now)}</time>`;
}

/** An instant on my clock: "14:05", "22 Nov 14:05"; `seconds` shows them too. */
export function Absolute({ at, zone, seconds }) {
  useStore(clock);
  if (!at) return html`<span class="soft">${NONE}</span>`;
  return html`<time datetime=${at} title=${titled(at, zone)}>${absolute(at, { seconds })}</time>`;
}

/** Both, one above the other: how far away it is, then when, in a job's zone and, where that differs, in mine. */
export function When({ at, zone, none = NONE }) {
  const now = useNow();
  useStore(clock);
  if (!at) return html`<span class="soft">${none}</span>`;
  const own = zone ?? myZone();
  const isElsewhere = zone && differs(at, zone);
  const there = absolute(at, { zone: own });
  const here = day(at) === day(at, { zone: own }) ? timeOfDay(at) : absolute(at);
  return html`<time class="when" datetime=${at} title=${titled(at, zone)}><span>${relative(at, now)}</span>
    <span class="soft"><span class="kept">${there}${isElsewhere && ` ${shortZone(zone)} ·`}</span>${isElsewhere && html` <span class="kept">${here} here</span>`}</span></time>`;
}

/** How long something takes that began at an instant and may have ended. */
export function Elapsed({ since, until }) {
  return until ? html`<span>${duration(Date.parse(until) - Date.parse(since))}</span>` : html`<${Counting} since=${since} />`;
}

function Counting({ since }) {
  return html`<span>${duration(Math.max(0, Math.floor((useNow() - Date.parse(since)) / 1000) * 1000))}</span>`;
}

const shortZone = (zone) => zone.split("/").at(-1).replaceAll("_", " ");
const titled = (at, zone) => (zone && differs(at, zone) ? `${full(at, zone)}\n${full(at)}` : full(at));
