// Instants on a clock: that of this browser or UTC as a person chose, and that of a job's zone where it is another.
import { serverNow } from "./api.js";
import { parts } from "./format.js";
import { clock } from "./preferences.js";

export const MINE = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

const made = new Map();

function formatter(zone, options) {
  const key = zone + JSON.stringify(options);
  if (!made.has(key)) made.set(key, new Intl.DateTimeFormat("en-GB", { timeZone: known(zone), hourCycle: "h23", ...options }));
  return made.get(key);
}

const zones = new Map();

/** A zone that this browser knows, which of one that it does not is UTC. */
export function known(zone) {
  if (!zones.has(zone)) zones.set(zone, isKnown(zone) ? zone : "UTC");
  return zones.get(zone);
}

function isKnown(zone) {
  try {
    return Boolean(new Intl.DateTimeFormat("en", { timeZone: zone }));
  } catch {
    return false;
  }
}

/** Whether a job's schedule is read on the clock of its zone; an interval is the same on every clock. */
export const isZoned = ({ type, schedule }) => type === "cron" || type === "one_time" || (type === "recurring" && !isInterval(schedule ?? ""));

/** Whether a schedule is a length of time, such as `every 15m` or `PT6H`. */
export const isInterval = (schedule) => /^(every|P)/.test(schedule.trim());

/** The zone that the times of a job are shown in: its own, or that of the reader where its schedule has none. */
export const zoneOf = (job) => (isZoned(job) ? job.timezone : myZone());

/** The zone that a person reads times in. */
export const myZone = () => (clock.get() === "utc" ? "UTC" : MINE);

/** 14:05, or 14:05:30 with seconds. */
export function timeOfDay(at, { zone = myZone(), seconds = false } = {}) {
  return formatter(zone, { hour: "2-digit", minute: "2-digit", ...(seconds ? { second: "2-digit" } : {}) }).format(new Date(at));
}

/** 22 Nov, or 22 Nov 2027 in another year than this. */
export function day(at, { zone = myZone(), now = serverNow() } = {}) {
  const year = { year: "numeric" };
  const isThisYear = formatter(zone, year).format(new Date(at)) === formatter(zone, year).format(new Date(now));
  return formatter(zone, { day: "numeric", month: "short", ...(isThisYear ? {} : year) }).format(new Date(at));
}

/** 14:05 today, and 22 Nov 14:05 on any other day. */
export function absolute(at, { zone = myZone(), seconds = false } = {}) {
  const time = timeOfDay(at, { zone, seconds });
  return day(at, { zone }) === day(serverNow(), { zone }) ? time : `${day(at, { zone })} ${time}`;
}

/** Sun */
export const weekday = (at, { zone = myZone() } = {}) => formatter(zone, { weekday: "short" }).format(new Date(at));

/** Sun, 22 Nov 2026, 14:05:30 Europe/Berlin: everything, for a title. */
export function full(at, zone = myZone()) {
  const options = { weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" };
  return `${formatter(zone, options).format(new Date(at))} ${known(zone)}`;
}

/** in 3 m 20 s, 5 h ago, now */
export function relative(at, now) {
  const seconds = Math.round((new Date(at) - now) / 1000);
  if (Math.abs(seconds) < 1) return "now";
  // A clock that counts for days need not show the hours' minutes.
  return seconds > 0 ? `in ${parts(seconds)}` : `${parts(-seconds)} ago`;
}

/** Whether two zones show another wall clock at an instant. */
export function differs(at, zone, other = myZone()) {
  return zone !== other && formatter(zone, CLOCK).format(new Date(at)) !== formatter(other, CLOCK).format(new Date(at));
}

const CLOCK = { day: "numeric", hour: "2-digit", minute: "2-digit" };
