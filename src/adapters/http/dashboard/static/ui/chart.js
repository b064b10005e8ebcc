// Figures over time, drawn by uPlot in the colours of the theme.
import { html, useEffect, useRef, useState } from "../lib/html.js";
import { clock, theme } from "../lib/preferences.js";
import { useStore } from "../lib/store.js";
import { day, myZone, timeOfDay } from "../lib/time.js";
import { refused } from "./toast.js";

const DAY_SECONDS = 86400;

// Nothing that is counted or timed here comes in halves.
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 3e4, 6e4, 12e4, 3e5, 6e5, 12e5, 18e5, 36e5, 72e5, 144e5, 288e5, 864e5];
let asked = null;

/** Fetch uPlot, once; only its script, which is no module, is published small. Asked for early, it comes beside the figures. */
export function drawing() {
  asked ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = new URL("../vendor/uplot.js", import.meta.url);
    script.onload = () => resolve(globalThis.uPlot);
    script.onerror = () => {
      // Whoever shows a chart next asks again.
      asked = null;
      script.remove();
      reject(new Error("uPlot did not load"));
    };
    document.head.append(script);
  });
  return asked;
}

/**
 * A chart. `at`: instants in s. `series`: `{name, values, tone, kind?: "line" | "bars" | "points"}`; bars are stacked in
 * their order. `format(value)` writes a value; `label` says in words what is to be seen, `least` is the
 * least value at the top of the scale. `onPick(index)` is
 * called with the point that was clicked. Hold `at` and `series` fast (useMemo), or it is drawn anew each second.
 */
export function Chart({ label, at, series, format, height = 160, least = 4, onPick }) {
  const box = useRef(null);
  const plot = useRef(null);
  const [under, setUnder] = useState(null);
  const isDark = useDark();
  const zone = useStore(clock);
  const shape = series.map(({ name, tone, kind }) => `${name} ${tone} ${kind}`).join();
  const picked = useRef(onPick);
  picked.current = onPick;

  useEffect(() => {
    let isGone = false;
    drawing().then((uPlot) => {
      if (isGone) return;
      plot.current = new uPlot(options(uPlot, { box: box.current, at, series, format, height, least, setUnder, picked }), stacked(at, series), box.current);
    }, (problem) => refused(problem, "The chart cannot be drawn"));
    const observer = new ResizeObserver(([entry]) => {
      // In the next frame, since a size set while sizes are told would be told again.
      requestAnimationFrame(() => plot.current?.setSize({ width: Math.floor(entry.contentRect.width), height }));
    });
    observer.observe(box.current);
    return () => {
      isGone = true;
      observer.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape, height, isDark, zone]);
  useEffect(() => plot.current?.setData(stacked(at, series)), [at, series]);

  const index = under ?? null;
  return html`<figure class="chart">
    <figcaption class="legend">
      ${series.map(({ name, tone, values }) => html`<span key=${name} class="legend-entry"><i class=${`swatch fill-${tone}`}></i>${name}${index !== null && html` <b class="numeric">${format(values[index])}</b>`}</span>`)}
      <span class="legend-at numeric">${index !== null && at[index] !== undefined ? `${day(at[index] * 1000)} ${timeOfDay(at[index] * 1000)}` : ""}</span>
    </figcaption>
    <div ref=${box} class="chart-box" role="img" aria-label=${label}></div>
  </figure>`;
}

function options(uPlot, { box, at, series, format, height, least, setUnder, picked }) {
  const ink = colourOf(box, "--soft");
  const line = colourOf(box, "--line");
  const axis = { stroke: ink, font: '11px "Inter Variable", system-ui, sans-serif', grid: { stroke: line, width: 1 }, ticks: { show: false }, gap: 4 };
  const bars = series.filter(({ kind }) => kind === "bars");
  return {
    width: Math.max(50, Math.floor(box.clientWidth)),
    height,
    tzDate: (at) => uPlot.tzDate(new Date(at * 1000), myZone()),
    padding: [8, 4, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: bars.length === 0, size: 6 } },
    scales: { x: { range: (_, first, last) => padded(first, last, bars.length ? at.length : 0) }, y: { range: (_, __, most) => [0, Math.max(most * 1.1, least)] } },
    axes: [
      { ...axis, grid: { show: false }, size: 24, space: 64, values: (_, splits) => splits.map((split) => instant(split, splits)) },
      { ...axis, size: 48, space: 30, incrs: STEPS, values: (_, splits) => splits.map((split) => (split === null ? "" : format(split))) },
    ],
    series: [{}, ...drawnOrder(series).map(({ tone, kind }) => drawn(uPlot, colourOf(box, `--fill-${tone}`), kind))],
    hooks: {
      setCursor: [(plot) => setUnder(plot.cursor.idx ?? null)],
      ready: [(plot) => plot.over.addEventListener("click", () => plot.cursor.idx != null && picked.current?.(plot.cursor.idx))],
    },
  };
}

function drawn(uPlot, colour, kind) {
  if (kind === "bars") return { stroke: colour, fill: colour, width: 0, paths: uPlot.paths.bars({ size: [0.72, 18], radius: 0.15 }), points: { show: false } };
  if (kind === "points") return { stroke: colour, width: 0, points: { show: true, size: 5, fill: colour, width: 0 } };
  return { stroke: colour, width: 1.5, points: { show: false, size: 4, fill: colour, width: 0, filter: alone }, spanGaps: false };
}

/** Values between gaps: a line has nowhere to go from them, so that they are drawn as points. */
function alone(plot, series) {
  const values = plot.data[series];
  const found = values.flatMap((value, index) => (value != null && values[index - 1] == null && values[index + 1] == null ? [index] : []));
  return found.length ? found : null;
}

// The whole stack is drawn first, and what is lower in it over that.
const drawnOrder = (series) => [...series].reverse();

function stacked(at, series) {
  const sums = at.map(() => 0);
  const rows = series.map(({ kind, values }) => {
    if (kind !== "bars") return values;
    return values.map((value, index) => (sums[index] += value ?? 0));
  });
  return [at, ...rows.reverse()];
}

/** Leave half a bar at either end, so that none is cut. */
function padded(first, last, bars) {
  const half = bars > 1 ? (last - first) / (bars - 1) / 2 : 0;
  return [first - half, last + half];
}

function instant(at, all) {
  const isDaily = all.length > 1 && all[1] - all[0] >= DAY_SECONDS / 2;
  return isDaily || timeOfDay(at * 1000) === "00:00" ? day(at * 1000) : timeOfDay(at * 1000);
}

/** A custom property as a colour that a canvas understands. */
function colourOf(box, property) {
  const probe = document.createElement("i");
  probe.style.color = `var(${property})`;
  box.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

const dark = matchMedia("(prefers-color-scheme: dark)");

function useDark() {
  const chosen = useStore(theme);
  const [isSystemDark, setSystemDark] = useState(dark.matches);
  useEffect(() => {
    const changed = () => setSystemDark(dark.matches);
    dark.addEventListener("change", changed);
    return () => dark.removeEventListener("change", changed);
  }, []);
  return chosen === "system" ? isSystemDark : chosen === "dark";
}
