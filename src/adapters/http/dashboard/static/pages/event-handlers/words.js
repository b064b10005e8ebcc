// What an event handler does, said in a sentence.
import { html } from "../../lib/html.js";
import { parts, plural } from "../../lib/format.js";

/** When …, and …, then …; `names` are those of jobs by id. */
export function Sentence({ handler, names }) {
  const { event, filter, action, flow, mode } = handler;
  const limits = limitsOf(flow);
  return html`<div class="sentence">
    <p>When <code>${event}</code> comes${filter && html` and <code>${filter}</code>`}, <${Deed} action=${action} names=${names} />.</p>
    ${limits.length > 0 && html`<p class="soft">${capital(limits.join("; "))}${flow.key && html`, for each <code>${flow.key}</code>`}.</p>`}
    ${mode === "sync" && html`<p class="soft">Whoever publishes the event waits for it, 30 s at most.</p>`}
  </div>`;
}

/** What is done, with its particulars. */
export function Deed({ action, names }) {
  switch (action.type) {
    case "run_job":
      return html`run ${names?.get(action.job_id) === null ? "a job that is gone" : html`<a href=${`/jobs/${action.job_id}`}>${names?.get(action.job_id) ?? "a job"}</a>`}`;
    case "create_job":
      return html`make the job <code>${action.job.name}</code>, which runs ${action.delay_seconds ? `${parts(action.delay_seconds)} later` : "at once"}${action.on_conflict === "replace" && " in place of the one with its key"}`;
    case "cancel_jobs":
      return html`cancel the jobs ${action.key && html`with the key <code>${action.key}</code>`}${action.key && action.tags.length > 0 && " and "}${action.tags.length > 0 && html`tagged <code>${action.tags.join(", ")}</code>`}`;
    case "call":
      return html`call <code>${action.handler_name}</code>${action.handler_type !== "function" && ` (${action.handler_type})`}`;
    default:
      return html`publish <code>${action.name}</code>`;
  }
}

function limitsOf({ dedupe_seconds: dedupe, rate_limit: rate, throttle, debounce, batch }) {
  return [
    dedupe && `what repeats within ${parts(dedupe)} is left out`,
    rate && `more than ${rate.limit} in ${parts(rate.seconds)} are left out`,
    throttle && `more than ${throttle.limit} in ${parts(throttle.seconds)} wait`,
    debounce && `it waits until it has been quiet for ${parts(debounce.seconds)}${debounce.max_seconds ? `, ${parts(debounce.max_seconds)} at most` : ""}`,
    batch && `${plural(batch.size, "event")} are acted upon at once, or what has come after ${parts(batch.seconds)}`,
  ].filter(Boolean);
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** The ids of the jobs that actions name. */
export const jobsOf = (handlers) => handlers.map(({ action }) => (action.type === "run_job" ? action.job_id : null)).filter(Boolean);
