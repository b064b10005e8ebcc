// Event handlers that run a job, or cancel it.
import { html } from "../../lib/html.js";
import { api } from "../../lib/api.js";
import { useResource } from "../../lib/resource.js";
import { Card } from "../../ui/page.js";
import { Awaited } from "../../ui/states.js";

const PAGE_SIZE = 250;

export function Touching({ job }) {
  const handlers = useResource((signal) => touching(job, signal), [job.id, job.version]);
  return html`<${Card} title="Event handlers"><${Awaited} of=${handlers} lines=${1}>${(found) => found.length === 0
    ? html`<p class="soft">No event starts or cancels it. <a href="/event-handlers">All event handlers</a></p>`
    : html`<ul class="patterns">${found.map(({ id, name, event, enabled, action }) => html`<li key=${id}><a class="strong" href=${`/event-handlers/${id}`}>${name ?? event}</a>
      <p class="soft">${action.type === "run_job" ? "runs it" : "cancels it"} on <code>${event}</code>${enabled ? "" : ", but is switched off"}</p></li>`)}</ul>`}</${Awaited}></${Card}>`;
}

async function touching(job, signal) {
  const found = [];
  let offset = 0;
  let page;
  do {
    page = await api.handlers.list({ limit: PAGE_SIZE, offset }, signal);
    found.push(...page.items.filter(({ action }) => touches(action, job)));
    offset += PAGE_SIZE;
  } while (page.has_next);
  return found;
}

/** What is a template may come to anything, and is not guessed at. */
function touches(action, { id, key, tags }) {
  if (action.type === "run_job") return action.job_id === id;
  if (action.type !== "cancel_jobs") return false;
  const isKeyed = action.key ? action.key === key : action.tags?.length > 0;
  return isKeyed && (action.tags ?? []).every((tag) => tags.includes(tag));
}
