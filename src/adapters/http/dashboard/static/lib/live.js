// What happens, as it happens: one stream of Tocsin's own facts for all of a tab, or asking again where there is none.
import { BASE, learnNames } from "./api.js";
import { createStore } from "./store.js";
import { useEffect, useRef } from "./html.js";

const FACTS = [
  ...["created", "updated", "paused", "resumed", "cancelled", "deleted"].map((each) => `tocsin.job.${each}`),
  ...["created", "started", "retrying", "succeeded", "failed", "timed_out", "cancelled", "skipped"].map(
    (each) => `tocsin.execution.${each}`,
  ),
  "tocsin.node.lost",
  "tocsin.ledger.anomaly",
];
const POLL_MS = 5000;
const LOOK_MS = 5000;

// A connection may go without a word, and what keeps one that is idle alive is not shown to script: one that has been
// silent for so long is made anew, behind the last message.
const SILENT_MS = 60000;
const RETRY_MS = [1000, 2000, 5000, 10000, 30000];

// More than this and each look at a list is cheaper than what the stream tells of it.
const MOST_FACTS = 1500;
const WINDOW_MS = 5000;
const REST_MS = 60000;

/** "connecting", "live", or "polling". */
export const connection = createStore("connecting");

const listeners = new Set();
let source = null;
let position = null;
let failures = 0;
let timer = null;
let heard = 0;
let counted = 0;
let countedSince = 0;

/** Begin, and from now on let the connection go whenever nobody looks: a browser has few for each host. */
export function startLive() {
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : comeBack()));
  setInterval(() => connection.get() === "live" || document.hidden || tell(null), POLL_MS);
  setInterval(() => source && Date.now() - heard > SILENT_MS && renew(), LOOK_MS);
  open();
}

function open() {
  if (source || document.hidden) return;
  clearTimeout(timer);
  source = new EventSource(`${BASE}/stream${position ? `?after=${encodeURIComponent(position)}` : ""}`);
  hear();
  source.onopen = () => {
    hear();
    failures = 0;
    connection.set("live");
    tell(null);
  };
  source.onerror = () => {
    // While it is CONNECTING the browser comes back by itself, behind the last message.
    connection.set("polling");
    hear();
    if (source.readyState === EventSource.CLOSED) lost();
  };
  for (const name of FACTS) source.addEventListener(name, received);
}

function hear() {
  heard = Date.now();
}

function renew() {
  source.close();
  source = null;
  open();
}

function comeBack() {
  // Without a position nobody tells what was missed.
  if (!position) tell(null);
  open();
}

function close() {
  clearTimeout(timer);
  source?.close();
  source = null;
  connection.set("connecting");
}

function lost() {
  // Refused, perhaps because the position is not kept any more: begin anew, and look at everything afresh.
  source = null;
  position = null;
  tell(null);
  timer = setTimeout(open, RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]);
}

function received(message) {
  hear();
  position = message.lastEventId || position;
  if (isTooMuch()) {
    source.close();
    source = null;
    position = null;
    connection.set("polling");
    timer = setTimeout(open, REST_MS);
    return;
  }
  const fact = { name: message.type, ...JSON.parse(message.data) };
  if (fact.data.job_id && fact.data.job_name) learnNames([{ job_id: fact.data.job_id, name: fact.data.job_name }]);
  tell(fact);
}

function isTooMuch() {
  const now = Date.now();
  if (now - countedSince > WINDOW_MS) {
    countedSince = now;
    counted = 0;
  }
  counted += 1;
  return counted > MOST_FACTS;
}

function tell(fact) {
  for (const listener of [...listeners]) listener(fact);
}

/**
 * Call back with each fact whose name begins with one of `prefixes`, and with null where something may have been
 * missed: at each connection, and every few seconds without one.
 */
export function useFacts(prefixes, callback) {
  const latest = useRef(callback);
  latest.current = callback;
  const key = prefixes.join();
  useEffect(() => {
    const listener = (fact) => {
      if (fact === null || prefixes.some((prefix) => fact.name.startsWith(prefix))) latest.current(fact);
    };
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, [key]);
}
