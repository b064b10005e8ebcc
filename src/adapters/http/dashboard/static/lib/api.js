// The HTTP interface: one function sends, and every refusal is a Problem that a page can show as it is.
import { createStore } from "./store.js";

export const BASE = "/api/v1";

// The node gives an answer up after 30 s; what takes longer lies between.
const DEADLINE_MS = 40000;

// How far this machine's clock is behind the node's in ms, for times that count down.
let skew = 0;
export const serverNow = () => Date.now() + skew;

// Null until the node has answered; then whether it did the last time.
export const reachable = createStore(null);

/** A problem document (RFC 9457), or a node that does not answer: then `status` is 0. */
export class Problem extends Error {
  constructor(told) {
    super(told.detail || told.title);
    this.name = "Problem";
    Object.assign(this, { errors: [], ...told, errors: told.errors ?? [] });
  }

  /** What is wrong with a field, or null; `jobs[3].schedule` and `schedule` are told apart. */
  of(field) {
    return this.errors.find((each) => each.field === field)?.message ?? null;
  }
}

/** Write a query; arrays repeat their name, and null, undefined and "" are left out. */
export function queryOf(given = {}) {
  const written = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== null && each !== undefined && each !== "") written.append(name, each);
    }
  }
  const text = written.toString();
  return text && `?${text}`;
}

/** Send a request to a path behind `BASE`; as `send`. */
export const request = (method, path, options) => send(method, BASE + path, options);

/**
 * Send a request and give its JSON (null without a body).
 * Options: query, body (JSON), signal, version (of If-Match), headers.
 */
export async function send(method, address, { query, body, signal, version, headers } = {}) {
  let answer;
  try {
    answer = await fetch(address + queryOf(query), {
      method,
      signal: withinDeadline(signal),
      headers: {
        Accept: "application/json",
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...(version === undefined || version === null ? {} : { "If-Match": `"${version}"` }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    throw lost(error, signal);
  }
  reachable.set(true);
  keepTime(answer);
  const text = await answer.text().catch((error) => {
    throw lost(error, signal);
  });
  let told = null;
  try {
    told = text ? JSON.parse(text) : null;
  } catch {
    if (answer.ok) throw new Problem({ title: "No answer of a node", code: "UNEXPECTED", status: answer.status, detail: "Something in between answered. You may have to sign in there: load the page again." });
  }
  if (answer.ok) return told;
  throw new Problem({ title: answer.statusText, code: "UNEXPECTED", status: answer.status, answer: told, ...told });
}

function withinDeadline(signal) {
  const deadline = AbortSignal.timeout(DEADLINE_MS);
  return signal ? AbortSignal.any([signal, deadline]) : deadline;
}

/** What is told of a request without an answer; one that was given up on purpose is no problem. */
function lost(error, signal) {
  if (signal?.aborted) return error;
  reachable.set(false);
  return new Problem({ status: 0, code: "UNREACHABLE", title: "No answer", detail: "The node did not answer. It may be restarting, or the network is away." });
}

const get = (path, query, signal) => request("GET", path, { query, signal });
const post = (path, body = {}, options = {}) => request("POST", path, { body, ...options });
const id = encodeURIComponent;

export const api = {
  jobs: {
    list: (filter, signal) => get("/jobs", filter, signal),
    get: (job, signal) => get(`/jobs/${id(job)}`, {}, signal),
    create: (body, query) => request("POST", "/jobs", { body, query }),
    update: (job, body, version) => request("PATCH", `/jobs/${id(job)}`, { body, version }),
    remove: (job, version) => request("DELETE", `/jobs/${id(job)}`, { version }),
    pause: (job) => post(`/jobs/${id(job)}/pause`),
    resume: (job) => post(`/jobs/${id(job)}/resume`),
    cancel: (job) => post(`/jobs/${id(job)}/cancel`),
    trigger: (job, body) => post(`/jobs/${id(job)}/trigger`, body),
    retry: (job) => post(`/jobs/${id(job)}/retry`),
    bulk: (body, signal) => post("/jobs/bulk", body, { signal }),
    outcomes: (jobs, limit, signal) => get("/jobs/outcomes", { job_id: jobs, limit }, signal),
    upcoming: (query, signal) => get("/jobs/upcoming", query, signal),
    executions: (job, query, signal) => get(`/jobs/${id(job)}/executions`, query, signal),
    changes: (job, query, signal) => get(`/jobs/${id(job)}/changes`, query, signal),
    calendar: (job, query, signal) => get(`/jobs/${id(job)}/calendar`, query, signal),
    stats: (job, signal) => get(`/jobs/${id(job)}/stats`, {}, signal),
    preview: (job, query, signal) => get(`/jobs/${id(job)}/preview`, query, signal),
  },
  schedules: { preview: (body, signal) => post("/schedules/preview", body, { signal }) },
  executions: {
    list: (filter, signal) => get("/executions", filter, signal),
    get: (execution, signal) => get(`/executions/${id(execution)}`, {}, signal),
    logs: (execution, query, signal) => get(`/executions/${id(execution)}/logs`, query, signal),
    cancel: (execution) => post(`/executions/${id(execution)}/cancel`),
    retry: (execution) => post(`/executions/${id(execution)}/retry`),
  },
  events: {
    list: (filter, signal) => get("/events", filter, signal),
    get: (event, signal) => get(`/events/${id(event)}`, {}, signal),
    publish: (body) => post("/events", body),
  },
  handlers: {
    list: (filter, signal) => get("/event-handlers", filter, signal),
    get: (handler, signal) => get(`/event-handlers/${id(handler)}`, {}, signal),
    create: (body) => post("/event-handlers", body),
    update: (handler, body, version) => request("PATCH", `/event-handlers/${id(handler)}`, { body, version }),
    remove: (handler, version) => request("DELETE", `/event-handlers/${id(handler)}`, { version }),
    replay: (handler, body, signal) => post(`/event-handlers/${id(handler)}/replay`, body, { signal }),
    test: (body, signal) => post("/event-handlers/test", body, { signal }),
  },
  workers: {
    list: (signal) => get("/workers", {}, signal),
    drain: (worker) => post(`/workers/${id(worker)}/drain`),
    resume: (worker) => post(`/workers/${id(worker)}/resume`),
  },
  surroundings: (signal) => send("GET", "/dashboard/surroundings", { signal }),
  live: (signal) => send("GET", "/health", { signal }),
  metrics: (period, signal) => get("/scheduler/metrics", { period }, signal),
  series: (period, signal) => get("/scheduler/series", { period }, signal),
  /** How the node is doing; an unhealthy one says so with 503, which is an answer too. */
  async health(signal) {
    try {
      return await get("/scheduler/health", {}, signal);
    } catch (problem) {
      if (problem.answer?.components) return problem.answer;
      throw problem;
    }
  },
};

// Names of jobs by id, for lists that only have ids; a deleted job keeps none. What is being asked for is a promise.
const names = new Map();
const coming = new Map();

/** Remember the names of jobs that were seen anyway. */
export function learnNames(items) {
  for (const { id: job, job_id, name } of items) names.set(job_id ?? job, name);
}

/** Find out the names of jobs, those of deleted ones as null; each is asked for once, and one that does not come is left out. */
export async function jobNames(jobs) {
  const missing = [...new Set(jobs)].filter((job) => !names.has(job));
  await Promise.allSettled(missing.map(nameOf));
  return new Map(jobs.filter((job) => names.has(job)).map((job) => [job, names.get(job)]));
}

function nameOf(job) {
  if (!coming.has(job)) coming.set(job, askName(job).finally(() => coming.delete(job)));
  return coming.get(job);
}

async function askName(job) {
  try {
    names.set(job, (await api.jobs.get(job)).name);
  } catch (problem) {
    if (problem.status !== 404) throw problem;
    names.set(job, null);
  }
}

function keepTime(answer) {
  const said = Date.parse(answer.headers.get("Date") ?? "");
  if (Number.isNaN(said)) return;
  // The header has whole seconds, so what is within two of them may be no skew at all.
  const off = said + 500 - Date.now();
  skew = Math.abs(off) > 2000 ? off : 0;
}
