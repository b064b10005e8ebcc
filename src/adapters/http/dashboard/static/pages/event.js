// One event: what it tells, whom it touched and why it left the rest alone, and what came of it.
import { html, useMemo, useState } from "../lib/html.js";
import { api, jobNames } from "../lib/api.js";
import { duration, shortId } from "../lib/format.js";
import { useResource } from "../lib/resource.js";
import { Button } from "../ui/button.js";
import { Card, Code, Facts, Page } from "../ui/page.js";
import { Awaited } from "../ui/states.js";
import { Status } from "../ui/status.js";
import { Table } from "../ui/table.js";
import { Absolute, When } from "../ui/when.js";
import { ORIGINS } from "./events.js";
import { Impact, Touched } from "./events/impact.js";
import { Send } from "./events/send.js";

const MOST_HANDLERS = 250;

export default function Event({ params }) {
  const [isSending, setSending] = useState(false);
  const event = useResource((signal) => api.events.get(params.id, signal), [params.id], {
    facts: ["tocsin.execution."],
    wants: (fact) => fact.data.event_id === params.id,
  });
  const { name, impact } = event.data ?? {};
  const actions = event.data && html`<${Button} href=${`/event-handlers/new?sample=${params.id}`} icon="handlers">New handler for it</${Button}><${Button} icon="events" onClick=${() => setSending(true)}>Send again</${Button}>`;
  return html`<${Page} title=${name ?? "Event"} above=${[{ label: "Events", href: "/events" }]} aside=${event.data && html`<${Touched} impact=${impact} />`} actions=${actions}>
    <${Awaited} of=${event} lines=${6}>${(told) => html`<${Told} event=${told} />`}</${Awaited}>
    ${isSending && html`<${Send} given=${event.data} onClose=${() => setSending(false)} />`}
  </${Page}>`;
}

function Told({ event }) {
  const { impact, executions } = event;
  const asked = impact?.handlers.length ?? 0;
  const handlers = useResource(asked ? (signal) => api.handlers.list({ limit: MOST_HANDLERS }, signal) : null, [event.id, asked]);
  const known = useMemo(() => handlers.data && new Map(handlers.data.items.map((each) => [each.id, each])), [handlers.data]);
  return html`<div class="two">
    <div class="stack">
      <${Card} flush class="impact" title="What it touched" aside=${impact && html`<span title=${impact.hash}>snapshot <code>${impact.hash.slice(0, 8)}</code></span>`}><${Impact} impact=${impact} handlers=${known} /></${Card}>
      <${Executions} executions=${executions} />
    </div>
    <div class="stack"><${Card} title="Data"><${Code} value=${event.data} label="Data of the event" /></${Card}><${About} event=${event} /></div>
  </div>`;
}

function Executions({ executions }) {
  const ids = executions.map(({ job_id: job }) => job);
  const names = useResource(ids.length ? () => jobNames(ids) : null, [ids.join()]);
  if (executions.length === 0) return null;
  return html`<${Card} flush title="Executions that came of it"><${Table} label="Executions" rows=${executions} rowKey=${({ id }) => id} columns=${columns(names.data)} /></${Card}>`;
}

const columns = (names) => [
  { key: "execution", title: "Execution", card: "title", cell: ({ id, job_id: job }) => html`<a class="strong" href=${`/executions/${id}`}>${names?.get(job) ?? shortId(id)}</a>` },
  { key: "status", title: "Status", cell: ({ status }) => html`<${Status} status=${status} />` },
  { key: "due", title: "Due", cell: ({ scheduled_at: at }) => html`<${Absolute} at=${at} seconds />` },
  { key: "took", title: "Took", align: "right", cell: ({ duration_ms: took }) => duration(took) },
];

function About({ event }) {
  const { id, received_at: received, time, origin, source, subject, idempotency_key: key, correlation_id: correlation, depth, trace_id: trace, attributes } = event;
  const extra = Object.keys(attributes).length > 0;
  return html`<${Card} title="About it">
    <${Facts} items=${[
      ["Received", html`<${When} at=${received} />`],
      ["Happened", Date.parse(time) === Date.parse(received) ? null : html`<${Absolute} at=${time} seconds />`],
      ["Came in by", ORIGINS[origin] ?? origin],
      ["Source", source],
      ["Subject", subject],
      ["Key", key && html`<code>${key}</code>`],
      ["Correlation", correlation && html`<code>${correlation}</code>`],
      ["Depth", depth ? `${depth}: it follows from ${depth === 1 ? "another event" : `${depth} others`}` : null],
      ["Trace", html`<code>${trace}</code>`],
      ["Id", html`<code>${id}</code>`],
    ]} />
    ${extra && html`<h3 class="below">Attributes</h3><${Code} value=${attributes} label="Attributes of the event" />`}
  </${Card}>`;
}
