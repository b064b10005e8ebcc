// Figures as people read them. Absent ones are an en dash, so that a column stays a column.
export const NONE = "–";

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** 10,432 */
export const count = (value) => (value === null || value === undefined ? NONE : whole.format(value));

/** 10.4K */
export const brief = (value) => (value === null || value === undefined ? NONE : short.format(value));

/** A share in 0..1 as 99.2 %; what is not all is never rounded up to 100. */
export function percent(share) {
  if (share === null || share === undefined) return NONE;
  if (share === 1 || share === 0) return `${share * 100} %`;
  return `${Math.min(99.9, Math.max(0.1, share * 100)).toFixed(1)} %`;
}

/** A length of time in ms: 4 ms, 1.25 s, 3 m 20 s, 2 h 5 m, 3 d 4 h. */
export function duration(ms) {
  if (ms === null || ms === undefined) return NONE;
  if (ms < 0) return `-${duration(-ms)}`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${Number(seconds.toFixed(2))} s`;
  if (seconds < 60) return `${Number(seconds.toFixed(1))} s`;
  return parts(Math.round(seconds));
}

/** A length of time in whole seconds, in its two largest units. */
export function parts(seconds) {
  const units = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];
  const first = units.findIndex(([, size]) => seconds >= size);
  if (first === -1) return "0 s";
  const [unit, size] = units[first];
  const rest = units[first + 1];
  const less = rest ? Math.floor((seconds % size) / rest[1]) : 0;
  return `${Math.floor(seconds / size)} ${unit}${less ? ` ${less} ${rest[0]}` : ""}`;
}

/** 1 job, 2 jobs */
export const plural = (amount, one, many = `${one}s`) => `${count(amount)} ${amount === 1 ? one : many}`;

/** The first and last of an id, enough to tell two apart. */
export const shortId = (id) => (id && id.length > 13 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id);
