// What handlers made of an event, in words.
import { html } from "../../lib/html.js";
import { plural, shortId } from "../../lib/format.js";
import { Mark, Status, wordOf } from "../../ui/status.js";
import { Table } from "../../ui/table.js";
import { Absolute } from "../../ui/when.js";

const TOUCHES = ["acted", "held", "refused", "limited", "filtered"];
const WHY = {
  acted: "It did what it is there for.",
  held: "It holds the event, and acts later.",
  filtered: "Its filter came to false.",
  limited: "Its flow control left the event out.",
  refused: "It could not act.",
};

/** How many handlers did what with an event, for a row. */
export function Touched({ impact }) {
  if (!impact) return html`<span class="soft">not looked at yet</span>`;
  if (impact.stopped) return html`<${Status} status="refused" label="stopped" />`;
  if (impact.handlers.length === 0) return html`<span class="soft">no handler</span>`;
  const counted = TOUCHES.map((touch) => [touch, impact.handlers.filter((each) => each.touch === touch).length]).filter(([, amount]) => amount);
  return html`<span class="touched">${counted.map(([touch, amount]) => html`<${Status} key=${touch} status=${touch} label=${`${amount} ${wordOf(touch)}`} />`)}</span>`;
}

/** The impact snapshot: every handler whose name matched, and why it did what it did. `handlers`: those known by id. */
export function Impact({ impact, handlers }) {
  if (!impact) return html`<p class="soft pad">No handler has been asked yet.</p>`;
  const others = impact.others > 0 && html`<p class="soft pad">${plural(impact.others, "other handler")} ${impact.others === 1 ? "listens" : "listen"} for other names.</p>`;
  if (impact.stopped) return html`<p class="pad"><${Mark} status="refused" /> ${impact.stopped}</p>`;
  if (impact.handlers.length === 0) return html`<p class="pad">No handler listens for this name.</p>${others}`;
  return html`<${Table} label="What handlers made of it" rows=${impact.handlers} rowKey=${({ handler_id: id }) => id} columns=${columns(handlers)} />${others}`;
}

const columns = (handlers) => [
  { key: "handler", title: "Handler", card: "title", cell: (told) => html`<${Handler} told=${told} handler=${handlers?.get(told.handler_id)} />` },
  { key: "touch", title: "Touch", cell: ({ touch, replayed_at: at }) => html`<span><${Status} status=${touch} />${at && html`<span class="soft"> in a replay, <${Absolute} at=${at} /></span>`}</span>` },
  { key: "why", title: "Why", cell: ({ touch, reason }) => html`<span class=${touch === "refused" ? "tone-failed" : "soft"}>${reason ?? WHY[touch]}</span>` },
  { key: "made", title: "Came of it", cell: (told) => html`<${Made} told=${told} />` },
];

function Handler({ told: { handler_id: id, handler_version: version, action }, handler }) {
  const isOlder = handler && handler.version !== version;
  return html`<div class="event-name"><a class="strong" href=${`/event-handlers/${id}`}>${handler ? titleOf(handler) : shortId(id)}</a>
    <span class="event-notes soft">${ACTIONS[action] ?? action}${isOlder && html` · as version ${version} said, it is at ${handler.version} now`}</span></div>`;
}

function Made({ told: { execution_ids: executions, job_ids: jobs, event_ids: events } }) {
  const links = [
    ...executions.map((id) => ["execution", `/executions/${id}`, id]),
    ...jobs.map((id) => ["job", `/jobs/${id}`, id]),
    ...events.map((id) => ["event", `/events/${id}`, id]),
  ];
  if (links.length === 0) return html`<span class="soft">nothing</span>`;
  return html`<ul class="made">${links.map(([what, href, id]) => html`<li key=${href}><span class="soft">${what}</span> <a class="mono" href=${href}>${shortId(id)}</a></li>`)}</ul>`;
}

export const ACTIONS = { run_job: "runs a job", create_job: "makes a job", cancel_jobs: "cancels jobs", call: "calls a handler", publish: "publishes an event" };

/** What a handler is called: its name, else its key, else what it listens for. */
export const titleOf = ({ name, key, event }) => name ?? key ?? `on ${event}`;
