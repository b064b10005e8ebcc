// A line of figures small enough for a cell: its shape counts, not its values.
import { html } from "../lib/html.js";
import { duration } from "../lib/format.js";

const WIDTH = 88;
const HEIGHT = 20;

/** `values` in ms, oldest first; nulls are left out. */
export function Sparkline({ values, label = "Durations" }) {
  const known = values.filter((value) => value !== null && value !== undefined);
  if (known.length < 2) return null;
  const most = Math.max(...known, 1);
  const points = known.map((value, index) => [
    1 + (index / (known.length - 1)) * (WIDTH - 5),
    HEIGHT - 2 - (value / most) * (HEIGHT - 5),
  ]);
  const line = points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L");
  const [x, y] = points.at(-1);
  return html`<svg class="sparkline" width=${WIDTH} height=${HEIGHT} viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img"
    aria-label=${`${label} of the last ${known.length} runs, ${duration(Math.min(...known))} to ${duration(most)}`}>
    <path class="sparkline-area" d=${`M${line}L${x.toFixed(1)} ${HEIGHT - 1}L1 ${HEIGHT - 1}Z`} />
    <path class="sparkline-line" d=${`M${line}`} /><circle cx=${x} cy=${y} r="1.8" />
  </svg>`;
}
