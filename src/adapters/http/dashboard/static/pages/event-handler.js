// One standing rule: what it does in words, what came of it, and the events that it was asked about last.
import { html } from "../lib/html.js";
import { api, jobNames } from "../lib/api.js";
import { count } from "../lib/format.js";
import { useKey } from "../lib/keyboard.js";
import { useResource } from "../lib/resource.js";
import { setQuery, usePlace } from "../lib/router.js";
import { Button, Menu } from "../ui/button.js";
import { Card, Code, Facts, Figure, Page } from "../ui/page.js";
import { Awaited, Empty } from "../ui/states.js";
import { Badge, Status } from "../ui/status.js";
import { Table } from "../ui/table.js";
import { Absolute, Relative, When } from "../ui/when.js";
import { remove, toggle } from "./event-handlers/acts.js";
import { Editor } from "./event-handlers/editor.js";
import { Replay } from "./event-handlers/replay.js";
import { Sentence, jobsOf } from "./event-handlers/words.js";
import { titleOf } from "./events/impact.js";

const ABOVE = [{ label: "Event handlers", href: "/event-handlers" }];
const LOOKED_AT = 50;
const SHOWN = 10;
const EVERY_MS = 5000;
const EVENTS_MS = 15000;

export default function EventHandler({ params }) {
  const { query } = usePlace();
  const handler = useResource((signal) => api.handlers.get(params.id, signal), [params.id], { facts: ["tocsin.execution."], every: EVERY_MS });
  const isEditing = query.has("edit");
  // Whoever leaves the form goes back to where it was opened from, and not forward.
  const edit = (isOn) => setQuery({ edit: isOn ? "1" : null }, { replace: !isOn });
  useKey("e", "Edit this handler", () => edit(true));
  const told = handler.data;
  const saved = async () => {
    await handler.reload();
    edit(false);
  };
  return html`<${Page} title=${told ? titleOf(told) : "Event handler"} above=${ABOVE} aside=${told && html`<${Badge} status=${told.enabled ? "enabled" : "disabled"} />`}
    actions=${told && !isEditing && html`<${Actions} handler=${told} reload=${handler.reload} edit=${edit} />`}>
    <${Awaited} of=${handler} lines=${6}>${(found) => isEditing
      ? html`<${Editor} key=${found.id} handler=${found} onDone=${saved} onLeave=${() => edit(false)} />`
      : html`<${Told} handler=${found} />`}</${Awaited}>
    ${told && query.has("replay") && html`<${Replay} handler=${told} onClose=${() => setQuery({ replay: null })} onDone=${handler.reload} />`}
  </${Page}>`;
}

function Actions({ handler, reload, edit }) {
  const { enabled } = handler;
  return html`<${Button} icon=${enabled ? "pause" : "resume"} onClick=${() => toggle(handler, reload)}>${enabled ? "Disable" : "Enable"}</${Button}>
    <${Button} icon="retry" onClick=${() => setQuery({ replay: "1" })}>Replay</${Button}>
    <${Button} icon="edit" onClick=${() => edit(true)}>Edit</${Button}>
    <${Menu} label="More actions" items=${[{ label: "Delete", icon: "trash", tone: "danger", onClick: () => remove(handler, { reload, next: "/event-handlers" }) }]} tone="plain" size="" />`;
}

function Told({ handler }) {
  const { action } = handler;
  const jobs = jobsOf([handler]);
  const names = useResource(jobs.length ? () => jobNames(jobs) : null, [jobs.join()]);
  return html`<${Counters} handler=${handler} />
    <div class="two">
      <div class="stack"><${Card} title="What it does"><${Sentence} handler=${handler} names=${names.data} /></${Card}><${LastEvents} handler=${handler} /></div>
      <div class="stack"><${About} handler=${handler} /><${Card} title="Its action"><${Code} value=${action} label="Action as JSON" /></${Card}></div>
    </div>`;
}

function Counters({ handler: { triggered, matched, succeeded, failed, last_triggered: last } }) {
  const figures = [
    ["Asked", count(triggered), "events whose name matched"],
    ["Acted", count(matched), triggered ? `${count(triggered - matched)} left alone` : "none yet"],
    ["Succeeded", count(succeeded), "executions that ended well"],
    ["Failed", count(failed), "executions, and what it refused", failed ? "failed" : null],
    ["Last asked", last ? html`<${Relative} at=${last} />` : "never", last && html`<${Absolute} at=${last} seconds />`],
  ];
  return html`<dl class="figures is-five">${figures.map(([name, value, note, tone]) => html`<${Figure} key=${name} name=${name} value=${tone ? html`<span class=${`tone-${tone}`}>${value}</span>` : value} note=${note ?? "no event yet"} />`)}</dl>`;
}

function About({ handler: { id, key, event, priority, mode, created_at: created, created_by: by, updated_at: updated, version, every_tenant: isWide, action } }) {
  return html`<${Card} title="About it"><${Facts} items=${[
    ["Key", key && html`<code>${key}</code>`],
    ["Priority", priority],
    ["Mode", mode === "sync" ? "sync: the publisher waits" : "async"],
    ["Sees", isWide ? "the events of all tenants" : null],
    ["Its own job", action.type === "call" && action.job_id ? html`<a href=${`/jobs/${action.job_id}`}>what it runs by</a>` : null],
    ["Events", html`<a href=${`/events?q=${encodeURIComponent(event.split("*")[0])}`}>all of such names</a>`],
    ["Made", html`<${When} at=${created} />`],
    ["Made by", by],
    ["Changed", version > 1 ? html`<${When} at=${updated} />` : null],
    ["Version", version],
    ["Id", html`<code>${id}</code>`],
  ]} /></${Card}>`;
}

/** Those of the newest events of such names whose snapshot tells of this handler. */
function LastEvents({ handler: { id, event } }) {
  const prefix = event.split("*")[0];
  const events = useResource((signal) => api.events.list({ name_prefix: prefix, limit: LOOKED_AT }, signal), [prefix], { facts: ["tocsin.execution.created"], every: EVENTS_MS });
  const rows = (page) => page.items.map((each) => ({ ...each, told: each.impact?.handlers.find(({ handler_id: other }) => other === id) })).filter(({ told }) => told).slice(0, SHOWN);
  return html`<${Card} flush title="Events it was asked about last"><${Awaited} of=${events}>${(page) => rows(page).length === 0
    ? html`<${Empty} isSlim icon="events" title="None of the newest events" />`
    : html`<${Table} label="Events it was asked about" rows=${rows(page)} rowKey=${(each) => each.id} columns=${COLUMNS} />`}</${Awaited}></${Card}>`;
}

const COLUMNS = [
  { key: "event", title: "Event", card: "title", cell: ({ id, name }) => html`<a class="strong" href=${`/events/${id}`}>${name}</a>` },
  { key: "touch", title: "Touch", cell: ({ told }) => html`<span><${Status} status=${told.touch} />${told.reason && html` <span class="soft">${told.reason}</span>`}</span>` },
  { key: "data", title: "Data", cell: ({ data }) => html`<code class="data-line cut">${data === null ? "" : JSON.stringify(data)}</code>` },
  { key: "received", title: "Received", cell: ({ received_at: at }) => html`<${Relative} at=${at} />` },
];
