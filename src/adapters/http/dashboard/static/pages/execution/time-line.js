// What the ledger knows of an execution's spans, one below the other: waiting, each attempt, the waits between them.
import { html } from "../../lib/html.js";
import { api } from "../../lib/api.js";
import { duration, shortId } from "../../lib/format.js";
import { useResource } from "../../lib/resource.js";
import { Button } from "../../ui/button.js";
import { Icon } from "../../ui/icons.js";
import { Card } from "../../ui/page.js";
import { Mark, toneOf, wordOf } from "../../ui/status.js";
import { refused, said } from "../../ui/toast.js";
import { useNow } from "../../ui/when.js";

const TICKS = 4;
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 216e5, 864e5];

export function TimeLine({ execution }) {
  const now = useNow();
  const surroundings = useResource(api.surroundings, []);
  const spans = spansOf(execution, now);
  const begin = spans[0].from;
  const length = Math.max(1, Math.max(...spans.map(({ to }) => to)) - begin);
  return html`<${Card} title="Time line" aside=${execution.trace_id && html`<${Trace} id=${execution.trace_id} url=${surroundings.data?.trace_url} />`}>
    <div class="spans">
      <div class="span-scale" aria-hidden="true">${ticks(length).map((at) => html`<span style=${{ left: `${(at / length) * 100}%` }}>${at === 0 ? "0" : duration(at)}</span>`)}</div>
      <ol>${spans.map((span, index) => html`<${Span} key=${index} span=${span} begin=${begin} length=${length} />`)}</ol>
    </div>
  </${Card}>`;
}

function Span({ span: { name, status, tone, from, to, note, isOpen }, begin, length }) {
  const place = { left: `${((from - begin) / length) * 100}%`, width: `${((to - from) / length) * 100}%` };
  return html`<li class="span">
    <span class="span-name">${status ? html`<${Mark} status=${status} />` : html`<i class="span-dot"></i>`}<span>${name}</span>${status && html`<span class="unseen">${wordOf(status)}</span>`}</span>
    <span class="span-track" aria-hidden="true"><i class=${`span-bar fill-${tone} ${status ? "" : "is-wait"} ${isOpen ? "is-open" : ""}`} style=${place}></i></span>
    <span class="span-length numeric">${name === "Created" ? "" : duration(to - from)}</span>
    ${note && html`<span class="span-note soft">${note}</span>`}
  </li>`;
}

function Trace({ id, url }) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(id);
      said("The trace id is copied");
    } catch (problem) {
      refused(problem, "Not copied");
    }
  };
  return html`<span>Trace <code title=${id}>${shortId(id)}</code></span>
    <${Button} size="small" tone="quiet" icon="copy" label="Copy the trace id" onClick=${copy} />
    ${url && html`<a class="row is-tight" href=${url.replaceAll("{trace_id}", encodeURIComponent(id))} target="_blank" rel="noreferrer">Open trace<${Icon} name="out" size=${14} /><span class="unseen">in a new tab</span></a>`}`;
}

/** Each `{name, from, to}` in ms, earliest first; those that wait have no status. */
function spansOf(execution, now) {
  const { created_at, available_at, next_retry_at, status } = execution;
  const isOver = !["pending", "running"].includes(status);
  const attempts = attemptsOf(execution, now);
  let reached = Date.parse(created_at);
  const spans = [{ name: "Created", tone: "quiet", from: reached, to: reached }];
  for (const attempt of attempts) {
    spans.push(waiting(spans.length, reached, Math.max(reached, attempt.from)), attempt);
    reached = attempt.to;
  }
  if (attempts.length === 0 || (!isOver && status === "pending")) {
    const until = isOver ? Date.parse(execution.completed_at ?? created_at) : now;
    const due = next_retry_at ?? available_at;
    const note = !isOver && due && Date.parse(due) > now ? `not before ${duration(Date.parse(due) - now)} from now` : null;
    spans.push({ ...waiting(spans.length, reached, Math.max(reached, until)), isOpen: !isOver, note });
  }
  return spans;
}

const waiting = (before, from, to) => ({ name: before > 1 ? "Waits to retry" : "Queued", tone: "quiet", from, to });

function attemptsOf({ past_attempts, attempt, started_at, completed_at, status, worker_id }, now) {
  const ended = past_attempts
    .filter((past) => past.started_at)
    .map((past) => ({ attempt: past.attempt, from: past.started_at, to: past.ended_at, status: past.outcome, note: noteOf(past) }));
  const isCurrent = started_at && status !== "pending" && !ended.some((past) => past.attempt === attempt);
  const all = isCurrent ? [...ended, { attempt, from: started_at, to: completed_at, status, note: worker_id && `on ${worker_id.split("#")[0]}` }] : ended;
  return all.map(({ attempt: number, from, to, ...rest }) => ({
    ...rest,
    name: `Attempt ${number}`,
    tone: toneOf(rest.status),
    isOpen: !to,
    from: Date.parse(from),
    to: to ? Date.parse(to) : Math.max(now, Date.parse(from)),
  }));
}

const noteOf = ({ error_type, error, worker_id }) => [error_type && html`<code>${error_type}</code>`, error && ` ${error}`, worker_id && ` · on ${worker_id.split("#")[0]}`];

function ticks(length) {
  const step = STEPS.find((each) => length / each <= TICKS) ?? Math.ceil(length / TICKS / 864e5) * 864e5;
  return Array.from({ length: Math.floor(length / step) + 1 }, (_, index) => index * step);
}
