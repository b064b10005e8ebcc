// Where an execution comes from, and what it belongs to.
import { html } from "../../lib/html.js";
import { count, shortId } from "../../lib/format.js";
import { Card, Facts } from "../../ui/page.js";
import { Relative } from "../../ui/when.js";

const ORIGINS = {
  schedule: "its schedule",
  manual: "somebody, by hand",
  event: "an event",
  retry: "a retry",
  backfill: "a backfill",
};

export function About({ execution }) {
  const { id, job_version, origin, priority, retry_of, event_id, event_handler_id, lease_expires_at, status, idempotency_key, correlation_id, depth, metadata } = execution;
  const items = [
    ["Id", html`<code>${id}</code>`],
    ["Made by", ORIGINS[origin] ?? origin],
    ["Retry of", retry_of && html`<a href=${`/executions/${retry_of}`}><code>${shortId(retry_of)}</code></a>`],
    ["Event", event_id && html`<a href=${`/events/${event_id}`}><code>${shortId(event_id)}</code></a>`],
    ["Handler", event_handler_id && html`<a href=${`/event-handlers/${event_handler_id}`}><code>${shortId(event_handler_id)}</code></a>`],
    ["Lease", status === "running" ? html`ends <${Relative} at=${lease_expires_at} />` : null],
    ["Job version", count(job_version)],
    ["Priority", count(priority)],
    ["Idempotency key", idempotency_key && html`<code>${idempotency_key}</code>`],
    ["Correlation", correlation_id && html`<code>${correlation_id}</code>`],
    ["Depth", depth ? count(depth) : null],
    ["Metadata", Object.keys(metadata).length ? html`<code>${JSON.stringify(metadata)}</code>` : null],
  ];
  return html`<${Card} title="About"><${Facts} items=${items} /></${Card}>`;
}
