// The standing rules about events, those that act first first.
import { html } from "../lib/html.js";
import { api, jobNames } from "../lib/api.js";
import { NONE, count } from "../lib/format.js";
import { useKey } from "../lib/keyboard.js";
import { useResource } from "../lib/resource.js";
import { navigate, setQuery, usePlace } from "../lib/router.js";
import { Button, Menu } from "../ui/button.js";
import { Choice } from "../ui/form.js";
import { Card, Page } from "../ui/page.js";
import { Awaited, Empty } from "../ui/states.js";
import { Status } from "../ui/status.js";
import { Listed, Table } from "../ui/table.js";
import { Relative } from "../ui/when.js";
import { remove, toggle } from "./event-handlers/acts.js";
import { Deed, jobsOf } from "./event-handlers/words.js";
import { titleOf } from "./events/impact.js";

const PAGE_SIZE = 50;
const EVERY_MS = 5000;
const ENABLED = [["", "All"], ["true", "Enabled"], ["false", "Disabled"]];

export default function EventHandlers() {
  const { query } = usePlace();
  const enabled = query.get("enabled") ?? "";
  const offset = Number(query.get("offset") ?? 0);
  const handlers = useResource((signal) => api.handlers.list({ enabled, limit: PAGE_SIZE, offset }, signal), [enabled, offset], { facts: ["tocsin.execution."], every: EVERY_MS });
  const jobs = jobsOf(handlers.data?.items ?? []);
  const names = useResource(jobs.length ? () => jobNames(jobs) : null, [jobs.join()]);
  useKey("a", "New event handler", () => navigate("/event-handlers/new"));
  const aside = handlers.data && html`<span class="soft numeric">${handlers.data.total.toLocaleString("en")}</span>`;
  const actions = html`<${Choice} label="Which handlers" value=${enabled} options=${ENABLED} onChange=${(value) => setQuery({ enabled: value, offset: null })} />
    <${Button} tone="primary" icon="plus" href="/event-handlers/new">New handler</${Button}>`;
  return html`<${Page} title="Event handlers" aside=${aside} actions=${actions}>
    <${Card} flush class="handlers">
      <${Awaited} of=${handlers} lines=${8}>${(page) => html`<${Listed} page=${page} offset=${offset} what="handlers" none=${html`<${Nothing} enabled=${enabled} />`}>
        <${Table} isStale=${handlers.isStale} label="Event handlers" rows=${page.items} rowKey=${({ id }) => id} rowLabel=${titleOf} columns=${columns(names.data, handlers.reload)} /></${Listed}>`}</${Awaited}>
    </${Card}>
  </${Page}>`;
}

const columns = (names, reload) => [
  { key: "handler", title: "Handler", card: "title", cell: (handler) => html`<${Name} handler=${handler} />` },
  { key: "rule", title: "Acts upon", cell: ({ event, filter }) => html`<span class="rule"><code>${event}</code>${filter && html`<code class="soft">${filter}</code>`}</span>` },
  { key: "deed", title: "And then", cell: ({ action }) => html`<span class="deed"><${Deed} action=${action} names=${names} /></span>` },
  { key: "asked", title: "Asked", align: "right", cell: ({ triggered }) => count(triggered) },
  { key: "acted", title: "Acted", align: "right", cell: ({ matched }) => count(matched) },
  { key: "failed", title: "Failed", align: "right", cell: ({ failed }) => html`<span class=${failed ? "tone-failed" : "soft"}>${count(failed)}</span>` },
  { key: "last", title: "Last asked", cell: ({ last_triggered: at }) => (at ? html`<${Relative} at=${at} />` : html`<span class="soft">${NONE}</span>`) },
  { key: "actions", title: html`<span class="unseen">Actions</span>`, label: "", cell: (handler) => html`<${Menu} label=${`Actions for ${titleOf(handler)}`} items=${deeds(handler, reload)} />` },
];

function Name({ handler }) {
  const { id, enabled } = handler;
  return html`<div class="event-name"><a class="strong" href=${`/event-handlers/${id}`}>${titleOf(handler)}</a>
    <span class="event-notes"><${Status} status=${enabled ? "enabled" : "disabled"} /></span></div>`;
}

function deeds(handler, reload) {
  const { id, enabled } = handler;
  return [
    { label: enabled ? "Disable" : "Enable", icon: enabled ? "pause" : "resume", onClick: () => toggle(handler, reload) },
    { label: "Edit", icon: "edit", href: `/event-handlers/${id}?edit=1` },
    { label: "Replay", icon: "retry", href: `/event-handlers/${id}?replay=1` },
    null,
    { label: "Delete", icon: "trash", tone: "danger", onClick: () => remove(handler, { reload }) },
  ];
}

function Nothing({ enabled }) {
  if (enabled) return html`<${Empty} icon="search" title=${`No handler is ${enabled === "true" ? "enabled" : "disabled"}`}><${Button} href="/event-handlers">Show all handlers</${Button}></${Empty}>`;
  return html`<${Empty} icon="handlers" title="There are no event handlers yet" text="A handler is a standing rule: this event, this filter, this action. Make the first one here and try it on an event before it is saved.">
    <${Button} tone="primary" icon="plus" href="/event-handlers/new">New handler</${Button}></${Empty}>`;
}
