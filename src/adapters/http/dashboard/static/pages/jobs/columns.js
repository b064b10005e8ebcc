// What a row says of its job, and what can be done to it.
import { html } from "../../lib/html.js";
import { api } from "../../lib/api.js";
import { NONE, duration } from "../../lib/format.js";
import { isInterval, zoneOf } from "../../lib/time.js";
import { Menu } from "../../ui/button.js";
import { Sparkline } from "../../ui/sparkline.js";
import { Mark, Tag, wordOf } from "../../ui/status.js";
import { Strip } from "../../ui/strip.js";
import { doing } from "../../ui/toast.js";
import { When } from "../../ui/when.js";
import { cancelJob } from "../job/acts.js";

const SHOWN_TAGS = 3;
const NO_RUN = { paused: "paused", cancelled: "cancelled", completed: "completed", failed: "failed" };

/** `outcomes`: the last of each job by its id, null until they are there. */
export const columns = (outcomes, reload) => [
  { key: "name", title: "Job", sort: "name", card: "title", cell: (job) => html`<${Name} job=${job} />` },
  { key: "schedule", title: "Schedule", cell: (job) => html`<${Schedule} job=${job} />` },
  { key: "next", title: "Next run", sort: "next_run", cell: (job) => html`<${When} at=${job.next_run} zone=${zoneOf(job)} none=${NO_RUN[job.status] ?? (job.type === "event" ? "on demand" : NONE)} />` },
  { key: "outcomes", title: "Last 50", card: "wide", cell: (job) => html`<${Strip} outcomes=${outcomes?.get(job.id) ?? null} name=${job.name} />` },
  { key: "durations", title: "Durations", cell: (job) => html`<${Durations} job=${job} outcomes=${outcomes?.get(job.id) ?? []} />` },
  { key: "actions", title: html`<span class="unseen">Actions</span>`, label: "", cell: (job) => html`<${Menu} label=${`Actions for ${job.name}`} items=${actions(job, reload)} />` },
];

function Name({ job }) {
  const { id, name, status, tags, consecutive_failures: failures } = job;
  return html`<div class="job">
    <a class="job-name strong" href=${`/jobs/${id}`}>${name}</a>
    <span class="job-notes"><span class=${`status ${status === "active" ? "soft" : ""}`}><${Mark} status=${status} />${wordOf(status)}</span>
      ${failures > 1 && html`<span class="tone-failed">${failures} failures in a row</span>`}
      ${tags.slice(0, SHOWN_TAGS).map((tag) => html`<${Tag} name=${tag} href=${`/jobs?tag=${encodeURIComponent(tag)}`} />`)}
      ${tags.length > SHOWN_TAGS && html`<span class="soft">+${tags.length - SHOWN_TAGS}</span>`}</span>
  </div>`;
}

function Schedule({ job: { type, schedule, timezone } }) {
  if (type === "event") return html`<span class="soft">on events</span>`;
  if (type === "one_time") return html`<span class="soft">once</span>`;
  const isCron = !isInterval(schedule);
  return html`<span class="schedule"><span class=${isCron ? "mono" : ""}>${schedule}</span>${isCron && timezone !== "UTC" && html`<span class="soft">${timezone}</span>`}</span>`;
}

function Durations({ job, outcomes }) {
  const values = outcomes.filter(({ status }) => status === "success" || status === "failed").map(({ duration_ms }) => duration_ms).reverse();
  const last = values.at(-1);
  return html`<span class="durations"><${Sparkline} values=${values} label=${`Durations of ${job.name}`} /><span class="numeric soft">${last === undefined ? NONE : duration(last)}</span></span>`;
}

function actions(job, reload) {
  const { id, name, status } = job;
  const act = (action, done, what) => async () => {
    await doing(action, done, what);
    reload();
  };
  return [
    { label: "Run now", icon: "play", disabled: status === "cancelled", onClick: act(() => api.jobs.trigger(id), (made) => ({ text: `${name} runs now`, href: `/executions/${made.id}` }), "Not run") },
    status === "paused"
      ? { label: "Resume", icon: "resume", onClick: act(() => api.jobs.resume(id), `${name} fires again`, "Not resumed") }
      : { label: "Pause", icon: "pause", disabled: status !== "active", onClick: act(() => api.jobs.pause(id), `${name} is paused`, "Not paused") },
    { label: "Its executions", icon: "executions", href: `/executions?job_id=${id}` },
    null,
    { label: "Cancel for good", icon: "cancel", tone: "danger", disabled: status === "cancelled", onClick: () => cancelJob(job, reload) },
  ];
}
