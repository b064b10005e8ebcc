// A job as a form has it, all texts, and the document that the node takes.
import { serverNow } from "../../lib/api.js";
import { MINE, isInterval } from "../../lib/time.js";

export const UNITS = [["s", "seconds"], ["m", "minutes"], ["h", "hours"], ["d", "days"]];
export const WEEKDAYS = [["1", "Mon"], ["2", "Tue"], ["3", "Wed"], ["4", "Thu"], ["5", "Fri"], ["6", "Sat"], ["0", "Sun"]];

const DAY_MS = 86400000;
const HOUR_MS = 3600000;

export const emptyDraft = () => ({
  name: "",
  description: "",
  key: "",
  tags: "",
  kind: "every",
  amount: "15",
  unit: "m",
  time: "02:00",
  weekdays: ["1"],
  expression: "0 9 * * 1-5",
  at: wallOf(serverNow() + HOUR_MS, MINE),
  timezone: MINE,
  handler_type: "http",
  handler_name: "",
  method: "GET",
  url: "https://",
  headers: "",
  body: "",
  shell: "",
  payload: "",
  max_retries: "3",
  retry_delay_s: "1",
  backoff: "exponential",
  timeout_s: "300",
  overlap_policy: "skip",
  misfire_policy: "run_once",
  priority: "50",
});

/** A draft of a job that is there; what the form has no field for stays as it is. */
export function draftOf(job) {
  const payload = job.payload === null ? "" : JSON.stringify(job.payload, null, 2);
  const texts = Object.fromEntries(["name", "description", "key", "timezone", "handler_type", "handler_name", "backoff", "overlap_policy", "misfire_policy"].map((field) => [field, job[field] ?? ""]));
  return {
    ...emptyDraft(),
    ...texts,
    ...timingOf(job),
    ...(job.handler_type === "http" ? callOf(job.payload ?? {}) : {}),
    shell: job.payload?.shell ?? "",
    // What a handler of another kind takes is shown as it is.
    isRaw: job.handler_type === "command" && !isPlainCommand(job.payload),
    payload,
    tags: job.tags.join(", "),
    max_retries: String(job.max_retries),
    retry_delay_s: String(job.retry_delay_ms / 1000),
    timeout_s: String(job.timeout_ms / 1000),
    priority: String(job.priority),
    given: job.payload,
    isRecurring: job.type === "recurring",
  };
}

const isPlainCommand = (payload) => payload && Object.keys(payload).join() === "shell";

function timingOf({ type, schedule, timezone }) {
  if (type === "event") return { kind: "event" };
  if (type === "one_time") return { kind: "once", at: wallOf(Date.parse(schedule), timezone) };
  const every = /^every (\d+) ?([smhd])$/.exec(schedule);
  if (every) return { kind: "every", amount: every[1], unit: every[2] };
  const daily = /^(\d{1,2}) (\d{1,2}) \* \* (\*|[0-6](?:,[0-6])*)$/.exec(schedule);
  if (!daily) return { kind: "cron", expression: schedule };
  const time = `${daily[2].padStart(2, "0")}:${daily[1].padStart(2, "0")}`;
  return daily[3] === "*" ? { kind: "daily", time } : { kind: "weekly", time, weekdays: daily[3].split(",") };
}

function callOf({ method = "GET", url = "", headers = {}, body = null }) {
  return {
    method,
    url,
    headers: Object.entries(headers).map(([name, value]) => `${name}: ${value}`).join("\n"),
    // A text that would be read as JSON is written as JSON, so that it stays one.
    body: body === null ? "" : typeof body === "string" && bodyOf(body) === body ? body : JSON.stringify(body, null, 2),
  };
}

/** When it fires, as the node takes it, or null where nothing is said yet. */
export function timing(draft) {
  const { kind, amount, unit, time, weekdays, expression, at, timezone, isRecurring } = draft;
  // A job that ends some day remains one, whatever its schedule.
  const typed = (type) => (isRecurring ? "recurring" : type);
  const [hour, minute = NaN] = time.split(":").map(Number);
  if (kind === "event") return { type: "event", timezone };
  if (kind === "every") return { type: typed("interval"), schedule: `every ${amount}${unit}`, timezone };
  if (kind === "once") return at ? { type: "one_time", schedule: instantOf(at, timezone), timezone } : { type: "one_time", schedule: "", timezone };
  if (kind === "cron") return { type: typed(isInterval(expression) ? "interval" : "cron"), schedule: expression.trim(), timezone };
  if (Number.isNaN(minute)) return { type: "cron", schedule: "", timezone };
  return { type: typed("cron"), schedule: `${minute} ${hour} * * ${kind === "daily" ? "*" : [...weekdays].sort().join()}`, timezone };
}

/** The whole document. Throws a SyntaxError whose `field` says where something cannot be read. */
export function documentOf(draft) {
  const { type, schedule, timezone } = timing(draft);
  return {
    name: draft.name.trim(),
    type,
    ...(schedule === undefined ? {} : { schedule }),
    timezone,
    key: draft.key.trim() || null,
    description: draft.description.trim() || null,
    tags: draft.tags.split(",").map((tag) => tag.trim()).filter(Boolean),
    handler_type: draft.handler_type,
    ...(draft.handler_type === "function" ? { handler_name: draft.handler_name.trim() } : {}),
    payload: payloadOf(draft),
    max_retries: numberOf("max_retries", draft.max_retries),
    retry_delay_ms: Math.round(numberOf("retry_delay_ms", draft.retry_delay_s) * 1000),
    backoff: draft.backoff,
    timeout_ms: Math.round(numberOf("timeout_ms", draft.timeout_s) * 1000),
    overlap_policy: draft.overlap_policy,
    misfire_policy: draft.misfire_policy,
    priority: numberOf("priority", draft.priority),
  };
}

/** What differs between two documents: the fields of the second. */
export function changesOf(before, after) {
  const isSame = (field) => JSON.stringify(before[field]) === JSON.stringify(after[field]);
  const changed = Object.fromEntries(Object.entries(after).filter(([field]) => !isSame(field)));
  // A handler's kind, name and payload are judged together, as are a schedule and its type.
  if (changed.handler_type) Object.assign(changed, { handler_name: after.handler_name ?? after.handler_type, payload: after.payload });
  if (changed.schedule || changed.type) Object.assign(changed, { type: after.type, schedule: after.schedule ?? null });
  return changed;
}

function payloadOf(draft) {
  const { handler_type: kind, method, url, headers, body, shell, payload, isRaw, given } = draft;
  if (kind === "command" && !isRaw) return { shell };
  if (kind !== "http") return payload.trim() ? parsed("payload", payload) : null;
  // What has no field here, such as expect, is kept.
  const { headers: _headers, body: _body, ...rest } = given && typeof given === "object" && "url" in given ? given : {};
  const named = headersOf(headers);
  return {
    ...rest,
    method,
    url: url.trim(),
    ...(Object.keys(named).length ? { headers: named } : {}),
    ...(body.trim() && takesBody(draft) ? { body: bodyOf(body) } : {}),
  };
}

/** Whether a call has a body: where its method takes one, or where the job has one all the same. */
export const takesBody = ({ method, given }) => !["GET", "HEAD"].includes(method) || (given?.method === method && given.body !== undefined);

function headersOf(text) {
  const headers = {};
  for (const line of text.split("\n").filter((each) => each.trim())) {
    const [, name, value] = /^\s*([^:\s]+)\s*:(.*)$/.exec(line) ?? [];
    if (name === undefined) throw misread("payload.headers", `This is no header: ${line.trim()}`);
    if (Object.keys(headers).some((each) => each.toLowerCase() === name.toLowerCase())) throw misread("payload.headers", `${name} is there twice`);
    headers[name] = value.trim();
  }
  return headers;
}

function numberOf(field, text) {
  // Number takes nothing for 0.
  if (!text.trim() || Number.isNaN(Number(text))) throw misread(field, "This takes a number");
  return Number(text);
}

const misread = (field, message) => Object.assign(new SyntaxError(message), { field });

/** JSON where it is JSON, and otherwise the text. */
function bodyOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function parsed(field, text) {
  try {
    return JSON.parse(text);
  } catch (problem) {
    throw misread(field, `This is not JSON: ${problem.message}`);
  }
}

/** An instant on a zone's wall clock, as an input of type datetime-local has it. */
export function wallOf(at, timezone) {
  return new Date(at + offsetOf(at, timezone)).toISOString().slice(0, 16);
}

/** The instant at which a zone's wall clock shows a time; in a gap the one after it. */
export function instantOf(wall, timezone) {
  const shown = Date.parse(`${wall}Z`);
  const guess = shown - offsetOf(shown - offsetOf(shown, timezone), timezone);
  const missed = shown - (guess + offsetOf(guess, timezone));
  return new Date(guess + (Math.abs(missed) < DAY_MS ? Math.max(0, missed) : 0)).toISOString();
}

function offsetOf(at, timezone) {
  try {
    const options = { timeZone: timezone, hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" };
    const part = Object.fromEntries(new Intl.DateTimeFormat("en", options).formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    return Date.UTC(part.year, part.month - 1, part.day, part.hour, part.minute, part.second) - Math.floor(at / 1000) * 1000;
  } catch {
    // A zone that is still being typed.
    return 0;
  }
}
