// What happened elsewhere, newest first: each event with what it touched, and a way to send one.
import { html, useMemo } from "../lib/html.js";
import { api } from "../lib/api.js";
import { useKey } from "../lib/keyboard.js";
import { useResource } from "../lib/resource.js";
import { setQuery, usePlace } from "../lib/router.js";
import { Button } from "../ui/button.js";
import { Choice, Search } from "../ui/form.js";
import { Icon } from "../ui/icons.js";
import { Card, Page } from "../ui/page.js";
import { Awaited, Empty } from "../ui/states.js";
import { Listed, Table } from "../ui/table.js";
import { Absolute, Relative } from "../ui/when.js";
import { Touched } from "./events/impact.js";
import { Send } from "./events/send.js";

const PAGE_SIZE = 50;
const EVERY_MS = 5000;
const TOUCHED = [["", "All"], ["true", "Acted upon"], ["false", "Left alone"]];
const NARROWED = ["q", "matched", "source", "subject"];

export default function Events() {
  const { query } = usePlace();
  const key = query.toString();
  const filter = useMemo(() => filterOf(query), [key]);
  // The stream tells what handlers make of events, and no event that nobody cares for: these are asked after.
  const events = useResource((signal) => api.events.list(filter, signal), [JSON.stringify(filter)], { facts: ["tocsin.execution.created", "tocsin.job."], every: EVERY_MS });
  const send = () => setQuery({ send: "1" });
  useKey("s", "Send an event", send);
  const aside = events.data && html`<span class="soft numeric">${events.data.total.toLocaleString("en")}</span>`;
  const actions = html`<${Button} href="/event-handlers/new" icon="handlers">New handler</${Button}><${Button} tone="primary" icon="events" onClick=${send}>Send an event</${Button}>`;
  return html`<${Page} title="Events" aside=${aside} actions=${actions}>
    <${Filters} query=${query} />
    <${Card} flush class="events">
      <${Awaited} of=${events} lines=${10}>${(page) => html`<${Listed} page=${page} offset=${filter.offset} what="events" none=${html`<${Nothing} query=${query} send=${send} />`}>
        <${Table} isStale=${events.isStale} label="Events" rows=${page.items} rowKey=${({ id }) => id} columns=${COLUMNS} /></${Listed}>`}</${Awaited}>
    </${Card}>
    ${query.has("send") && html`<${Send} onClose=${() => setQuery({ send: null })} onSent=${events.reload} />`}
  </${Page}>`;
}

function filterOf(query) {
  return {
    name_prefix: query.get("q"),
    matched: query.get("matched"),
    source: query.getAll("source"),
    subject: query.getAll("subject"),
    limit: PAGE_SIZE,
    offset: Number(query.get("offset") ?? 0),
  };
}

const COLUMNS = [
  { key: "event", title: "Event", card: "title", cell: (event) => html`<${Name} event=${event} />` },
  { key: "data", title: "Data", cell: ({ data }) => (data === null ? html`<span class="soft">none</span>` : html`<code class="data-line cut">${JSON.stringify(data)}</code>`) },
  { key: "touched", title: "Touched", cell: ({ impact }) => html`<${Touched} impact=${impact} />` },
  { key: "received", title: "Received", cell: ({ received_at: at }) => html`<span class="when"><${Relative} at=${at} /><span class="soft"><${Absolute} at=${at} seconds /></span></span>` },
];

function Name({ event: { id, name, source, subject, origin } }) {
  const narrow = (changes) => (click) => {
    click.preventDefault();
    setQuery({ ...changes, offset: null });
  };
  return html`<div class="event-name"><a class="strong" href=${`/events/${id}`}>${name}</a>
    <span class="event-notes soft">${source ? html`<a href=${`/events?source=${encodeURIComponent(source)}`} onClick=${narrow({ source })}>${source}</a>` : ORIGINS[origin] ?? origin}${subject && html` · <a href=${`/events?subject=${encodeURIComponent(subject)}`} onClick=${narrow({ subject })}>${subject}</a>`}</span></div>`;
}

export const ORIGINS = { http: "HTTP", cloudevents: "CloudEvents", stream: "Redis Stream", in_process: "in process", publish: "a handler", fact: "Tocsin" };

function Filters({ query }) {
  const narrow = (changes) => setQuery({ ...changes, offset: null });
  const chosen = ["source", "subject"].flatMap((name) => query.getAll(name).map((value) => ({ name, value })));
  return html`<div class="filters">
    <${Search} label="Search events by how their name begins" placeholder="Names that begin so" value=${query.get("q") ?? ""} onSearch=${(q) => narrow({ q })} />
    <${Choice} label="What handlers made of them" value=${query.get("matched") ?? ""} options=${TOUCHED} onChange=${(matched) => narrow({ matched })} />
    ${chosen.map(({ name, value }) => html`<button key=${`${name} ${value}`} type="button" class="chip" aria-label=${`Without ${name} ${value}`}
      onClick=${() => narrow({ [name]: query.getAll(name).filter((each) => each !== value) })}><span class="soft">${name}</span> ${value}<${Icon} name="close" size=${12} /></button>`)}
    ${NARROWED.some((name) => query.has(name)) && html`<${Button} tone="quiet" size="small" onClick=${() => narrow(Object.fromEntries(NARROWED.map((name) => [name, null])))}>Clear filters</${Button}>`}
  </div>`;
}

function Nothing({ query, send }) {
  if (NARROWED.some((name) => query.has(name))) {
    return html`<${Empty} icon="search" title="No event matches" text="Names are looked up from their beginning: order finds order.created."><${Button} href="/events">Show all events</${Button}></${Empty}>`;
  }
  return html`<${Empty} icon="events" title="No event has come in yet" text="Send one from here to see what it touches, or from anywhere: tocsin events send order.created --data '{&quot;id&quot;: 7}'">
    <${Button} icon="events" tone="primary" onClick=${send}>Send an event</${Button}><${Button} href="/event-handlers/new">New handler</${Button}></${Empty}>`;
}
