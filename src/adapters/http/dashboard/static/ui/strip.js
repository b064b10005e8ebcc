// The last outcomes of a job as a strip, oldest left: one glance tells a bad night from a bad job.
import { html } from "../lib/html.js";
import { duration, plural } from "../lib/format.js";
import { navigate } from "../lib/router.js";
import { absolute } from "../lib/time.js";
import { EXECUTION_STATUSES, wordOf } from "./status.js";
import { hint } from "./tip.js";

const STEP = 5;
const HEIGHT = 20;

// Each outcome has a shape of its own: [top, bottom] of its parts.
const PARTS = {
  success: [[9, 18]],
  failed: [[2, 18]],
  timeout: [[2, 8], [11, 18]],
  skipped: [[15, 18]],
  cancelled: [[12, 14]],
  running: [[5, 18]],
  pending: [[16, 18]],
};

/** `outcomes` newest first, as /jobs/outcomes answers them; null while they are awaited. */
export function Strip({ outcomes, slots = 50, name = "this job" }) {
  if (outcomes === null || outcomes === undefined) return html`<span class="strip-bone"></span>`;
  const width = slots * STEP;
  const last = outcomes.slice(0, slots);
  const left = (index) => width - (index + 1) * STEP;
  const paths = {};
  for (const [index, { status }] of last.entries()) {
    for (const [top, bottom] of PARTS[status] ?? PARTS.pending) {
      paths[status] = `${paths[status] ?? ""}M${left(index)} ${top}h4v${bottom - top}h-4z`;
    }
  }
  const empty = last.length < slots ? `M0 17.5h${width - last.length * STEP - 1}` : null;
  const at = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    return last[slots - 1 - Math.floor(((event.clientX - box.left) / box.width) * slots)];
  };
  const over = (event) => {
    const outcome = at(event);
    hint(outcome ? told(outcome) : null, event.clientX, event.currentTarget.getBoundingClientRect().top);
  };
  const click = (event) => {
    const outcome = at(event);
    hint(null);
    if (outcome) navigate(`/executions/${outcome.execution_id}`);
  };
  return html`<svg class="strip" viewBox=${`0 0 ${width} ${HEIGHT}`} width=${width} height=${HEIGHT} preserveAspectRatio="none" role="img" aria-label=${summary(last, name)}
    onPointerMove=${over} onPointerLeave=${() => hint(null)} onClick=${click}>
    ${empty && html`<path class="strip-empty" d=${empty} />`}
    ${Object.entries(paths).map(([status, path]) => html`<path key=${status} class=${`of-${status}`} d=${path} />`)}
  </svg>`;
}

/** The marks of a strip with their words, for where strips are shown. */
export function StripKey({ statuses = ["success", "failed", "timeout", "skipped", "cancelled"] }) {
  return html`<ul class="strip-key">${statuses.map((status) => html`<li><svg width="6" height="14" viewBox="0 0 4 20" preserveAspectRatio="none" aria-hidden="true"><path class=${`of-${status}`}
    d=${(PARTS[status]).map(([top, bottom]) => `M0 ${top}h4v${bottom - top}h-4z`).join("")} /></svg>${wordOf(status)}</li>`)}</ul>`;
}

function told({ status, scheduled_at, duration_ms, lateness_ms }) {
  return html`<strong>${wordOf(status)}</strong> ${absolute(scheduled_at, { seconds: true })}${duration_ms !== null && html` · took ${duration(duration_ms)}`}${lateness_ms > 1000 && html` · ${duration(lateness_ms)} late`}`;
}

function summary(last, name) {
  if (last.length === 0) return `${name} has not run yet`;
  const counted = EXECUTION_STATUSES.map((status) => [status, last.filter((each) => each.status === status).length]);
  const words = counted.filter(([, amount]) => amount).map(([status, amount]) => `${amount} ${wordOf(status)}`);
  return `The last ${plural(last.length, "outcome")} of ${name}: ${words.join(", ")}; newest ${wordOf(last[0].status)}`;
}
