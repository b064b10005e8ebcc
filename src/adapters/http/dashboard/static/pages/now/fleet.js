// Who does the work and how they are: health with reasons, and each node with its load.
import { html } from "../../lib/html.js";
import { api } from "../../lib/api.js";
import { count, parts, plural } from "../../lib/format.js";
import { useHealth } from "../../lib/health.js";
import { useResource } from "../../lib/resource.js";
import { Menu } from "../../ui/button.js";
import { confirmed } from "../../ui/dialog.js";
import { Card } from "../../ui/page.js";
import { Awaited, Empty } from "../../ui/states.js";
import { Badge, Mark, Status, wordOf } from "../../ui/status.js";
import { doing } from "../../ui/toast.js";
import { Relative } from "../../ui/when.js";

const REFRESH_MS = 5000;
const GONE = new Set(["stopped", "dead"]);
const GONE_SHOWN = 2;

export function Health() {
  const health = useHealth();
  return html`<${Card} title="Health" aside=${health.data && !health.problem && html`<${Badge} status=${health.data.status} />`}><${Awaited} of=${health}>${(data) => html`
    ${data.issues.length > 0 && html`<ul class="issues">${data.issues.map((issue) => html`<li>${issue}</li>`)}</ul>`}
    <${Parts} components=${data.components} />
    <p class="soft uptime">This node is up for ${parts(Math.round(data.uptime_seconds))}.</p>`}</${Awaited}></${Card}>`;
}

/** The parts that are not well with the reason of each, and those that are, which one rarely wants to read, folded. */
function Parts({ components }) {
  const all = Object.entries(components).map(([name, told]) => ({ name: name.replaceAll("_", " "), ...told }));
  const amiss = all.filter(({ status }) => status !== "healthy");
  const well = all.filter(({ status }) => status === "healthy");
  return html`
    ${amiss.length > 0 && html`<ul class="health">${amiss.map(({ name, status, detail }) => html`<li key=${name}>
      <span class="row is-tight is-apart"><strong>${name}</strong><${Status} status=${status} /></span>${detail && html`<p class="soft">${detail}</p>`}</li>`)}</ul>`}
    <details class="parts"><summary>${plural(well.length, "part")} ${well.length === 1 ? "is" : "are"} well</summary>
      <ul>${well.map(({ name, detail }) => html`<li key=${name} title=${detail}><${Mark} status="healthy" />${name}</li>`)}</ul></details>`;
}

export function Fleet() {
  const workers = useResource((signal) => api.workers.list(signal), [], { facts: ["tocsin.node."], every: REFRESH_MS });
  return html`<${Card} title="Nodes" aside=${workers.data && plural(workers.data.items.filter(({ status }) => !GONE.has(status)).length, "node")}>
    <${Awaited} of=${workers}>${({ items }) => html`<${Nodes} items=${items} reload=${workers.reload} />`}</${Awaited}></${Card}>`;
}

function Nodes({ items, reload }) {
  const here = items.filter(({ status }) => !GONE.has(status));
  const gone = items.filter(({ status }) => GONE.has(status)).slice(0, GONE_SHOWN);
  if (here.length + gone.length === 0) {
    return html`<${Empty} icon="node" title="No node runs jobs" text="Start one on the same database: tocsin serve --roles timer,executor,sweeper" />`;
  }
  return html`<ul class="nodes">${[...here, ...gone].map((worker) => html`<${Node} key=${worker.id} worker=${worker} reload=${reload} />`)}</ul>`;
}

function Node({ worker, reload }) {
  const { id, name, roles, capacity, running, status, heartbeat_at, drain_requested, version } = worker;
  const isGone = GONE.has(status);
  const share = capacity ? running / capacity : 0;
  const items = [
    drain_requested
      ? { label: "Take work again", icon: "resume", onClick: () => resume(id, name, reload) }
      : { label: "Drain", icon: "pause", onClick: () => drain(id, name, reload) },
  ];
  return html`<li class=${isGone ? "is-gone" : ""}>
    <div class="row is-tight"><${Mark} status=${status} /><strong class="cut">${name}</strong><span class=${isGone || status === "live" ? "soft" : `tone-timeout`}>${status === "live" && drain_requested ? "about to drain" : wordOf(status)}</span>
      ${!isGone && html`<span class="node-menu"><${Menu} label=${`Actions for ${name}`} items=${items} /></span>`}</div>
    ${!isGone && html`<div class="load" role="img" aria-label=${`${running} of ${capacity} running`}><i style=${{ width: `${Math.max(share * 100, running ? 2 : 0)}%` }}></i></div>`}
    <p class="soft numeric">${isGone ? html`last heard <${Relative} at=${heartbeat_at} />` : html`${count(running)} of ${count(capacity)} · ${roles.join(", ")} · v${version} · heard <${Relative} at=${heartbeat_at} />`}</p>
  </li>`;
}

async function drain(id, name, reload) {
  const text = "It takes no more work, finishes what it runs, and stays drained until it is told to take work again.";
  if (!(await confirmed({ title: `Drain ${name}?`, text, action: "Drain", tone: "primary", keep: "Leave it" }))) return;
  await doing(() => api.workers.drain(id), `${name} drains`, "Not drained");
  reload();
}

async function resume(id, name, reload) {
  await doing(() => api.workers.resume(id), `${name} takes work again`, "Not resumed");
  reload();
}
