// What is shown where there is nothing to show: nothing yet, nothing at all, or nothing because something went wrong.
import { html } from "../lib/html.js";
import { Button } from "./button.js";
import { Icon } from "./icons.js";

/** Grey lines in place of what is awaited; they come late, so that quick answers do not flicker. */
export function Loading({ lines = 3, label = "Loading" }) {
  return html`<div class="loading" role="status"><span class="unseen">${label}</span>${Array.from({ length: lines }, () => html`<span class="bone"></span>`)}</div>`;
}

/** Nothing is there: why, and what to do about it (`children`: buttons); `isSlim` where that is no surprise. */
export function Empty({ icon = "jobs", title, text, children, isSlim }) {
  return html`<div class=${`empty ${isSlim ? "is-slim" : ""}`}><${Icon} name=${icon} size=${isSlim ? 16 : 22} /><p class="empty-title">${title}</p>${text && html`<p>${text}</p>`}${children && html`<div class="row is-centred">${children}</div>`}</div>`;
}

const ADVICE = {
  UNAVAILABLE: "The database may be away. /api/v1/scheduler/health says more.",
  VERSION_CONFLICT: "Somebody else changed it meanwhile. Load it again and look at what is new.",
  JOB_NOT_FOUND: "It may have been deleted. Its executions stay until retention removes them.",
  EXECUTION_NOT_FOUND: "It may have been removed by retention.",
  EVENT_NOT_FOUND: "It may have been removed by retention.",
  EVENT_HANDLER_NOT_FOUND: "It may have been deleted. What came of it stays in the snapshots of its events.",
  RATE_LIMITED: "Wait a moment, then try again.",
};

/** A Problem as a person reads it: what went wrong, each field at fault, and what to do. */
export function Failure({ problem, onRetry, title }) {
  const advice = ADVICE[problem.code];
  return html`<div class="failure" role="alert">
    <${Icon} name="warning" />
    <div class="failure-text">
      <p class="failure-title">${title ?? problem.title ?? "Something went wrong"}</p>
      <p>${problem.detail ?? problem.message}${advice && html` <span class="soft">${advice}</span>`}</p>
      ${problem.errors?.length > 0 && html`<ul>${problem.errors.map((each) => html`<li><code>${each.field}</code> ${each.message}</li>`)}</ul>`}
      ${problem.known_handlers?.length > 0 && html`<p class="soft">Known handlers: ${problem.known_handlers.join(", ")}</p>`}
      ${problem.code && html`<p class="failure-code">${problem.code}${problem.status ? ` · ${problem.status}` : ""}</p>`}
    </div>
    ${onRetry && html`<${Button} size="small" icon="retry" onClick=${onRetry}>Try again</${Button}>`}
  </div>`;
}

/**
 * Show a resource: its problem, grey lines before its first answer, or `children(data)`.
 * An answer that is there stays while it is asked for again and when that fails, with the problem above it.
 */
export function Awaited({ of, lines, children }) {
  if (of.data === null) return of.problem ? html`<${Failure} problem=${of.problem} onRetry=${of.reload} />` : html`<${Loading} lines=${lines} />`;
  return html`${of.problem && html`<${Failure} problem=${of.problem} onRetry=${of.reload} />`}${children(of.data)}`;
}
