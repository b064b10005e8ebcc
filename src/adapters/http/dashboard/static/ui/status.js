// How jobs, executions, nodes and health stand: a word, a colour, and a shape for whoever does not see the colour.
import { html } from "../lib/html.js";

// Shapes on a grid of 12; those that are filled end in Z.
const SHAPES = {
  disc: "M6 2a4 4 0 1 0 0 8 4 4 0 0 0 0-8Z",
  ring: "M6 2.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7",
  cross: "M3 3l6 6M9 3l-6 6",
  wedge: "M3.5 2l6 4-6 4Z",
  bars: "M4 2.5v7M8 2.5v7",
  clock: "M6 1.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M6 3.5V6l1.7 1",
  slash: "M6 1.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M3 3l6 6",
  check: "M2.5 6.5L5 9l4.5-5.5",
  hop: "M2 8.5a4 4 0 0 1 8 0M8 7l2 1.5L11 6.5",
  triangle: "M6 1.8L11 10.2H1Z",
  square: "M2.5 2.5h7v7h-7Z",
};

const LOOKS = {
  // Executions.
  success: ["success", "check", "succeeded"],
  failed: ["failed", "cross", "failed"],
  timeout: ["timeout", "clock", "timed out"],
  running: ["running", "wedge", "running"],
  pending: ["quiet", "ring", "pending"],
  skipped: ["skipped", "hop", "skipped"],
  cancelled: ["quiet", "slash", "cancelled"],
  // What event handlers made of an event, and whether they are asked.
  acted: ["success", "check", "acted"],
  held: ["running", "clock", "held"],
  filtered: ["quiet", "slash", "filtered"],
  limited: ["timeout", "bars", "limited"],
  refused: ["failed", "cross", "refused"],
  enabled: ["success", "disc", "enabled"],
  disabled: ["timeout", "bars", "disabled"],
  // Jobs.
  active: ["success", "disc", "active"],
  paused: ["timeout", "bars", "paused"],
  completed: ["quiet", "check", "completed"],
  // Nodes and health.
  live: ["success", "disc", "live"],
  draining: ["timeout", "clock", "draining"],
  drained: ["timeout", "bars", "drained"],
  stopped: ["quiet", "square", "stopped"],
  dead: ["failed", "cross", "dead"],
  healthy: ["success", "check", "healthy"],
  degraded: ["timeout", "triangle", "degraded"],
  unhealthy: ["failed", "cross", "unhealthy"],
  // Attempts that ended without ending their execution.
  lease_lost: ["failed", "slash", "lease lost"],
  handed_back: ["quiet", "hop", "handed back"],
};

export const EXECUTION_STATUSES = ["pending", "running", "success", "failed", "timeout", "cancelled", "skipped"];
export const JOB_STATUSES = ["active", "paused", "completed", "failed", "cancelled", "pending"];

/** The tone of a status, which names its colours: success, failed, timeout, running, skipped or quiet. */
export const toneOf = (status) => LOOKS[status]?.[0] ?? "quiet";

/** A status as it is said. */
export const wordOf = (status) => LOOKS[status]?.[2] ?? String(status).replaceAll("_", " ");

/** The mark of a status alone, for where its word stands beside it anyway. */
export function Mark({ status }) {
  const [tone, shape] = LOOKS[status] ?? ["quiet", "ring"];
  const path = SHAPES[shape];
  return html`<svg class=${`mark tone-${tone} ${path.endsWith("Z") ? "is-filled" : ""}`} width="12" height="12" viewBox="0 0 12 12" aria-hidden="true"><path d=${path} /></svg>`;
}

/** A status with its mark; `label` replaces the word. */
export function Status({ status, label }) {
  return html`<span class=${`status tone-${toneOf(status)}`}><${Mark} status=${status} />${label ?? wordOf(status)}</span>`;
}

/** A status as a pill, for the head of a page. */
export function Badge({ status, label, tone }) {
  return html`<span class=${`badge tone-${tone ?? toneOf(status)}`}>${status && html`<${Mark} status=${status} />`}${label ?? wordOf(status)}</span>`;
}

/** A tag; with `href` it leads to all that have it. */
export function Tag({ name, href }) {
  return href ? html`<a class="tag" href=${href}>${name}</a>` : html`<span class="tag">${name}</span>`;
}
