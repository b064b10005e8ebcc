// One change of many jobs: what would happen is asked of the node first, and shown before anything does.
import { html, useState } from "../../lib/html.js";
import { api } from "../../lib/api.js";
import { count, plural } from "../../lib/format.js";
import { useResource } from "../../lib/resource.js";
import { Button } from "../../ui/button.js";
import { Dialog } from "../../ui/dialog.js";
import { Awaited, Failure } from "../../ui/states.js";
import { Mark, wordOf } from "../../ui/status.js";
import { said } from "../../ui/toast.js";

const ACTIONS = {
  pause: { label: "Pause", icon: "pause", done: "paused", tells: "They stop firing until they are resumed; what runs goes on." },
  resume: { label: "Resume", icon: "resume", done: "resumed", tells: "They fire again from now on; what was missed meanwhile is not made up for." },
  trigger: { label: "Run", icon: "play", done: "run", tells: "Each runs once, now, beside its schedule." },
  cancel: { label: "Cancel", icon: "cancel", done: "cancelled", tone: "danger", tells: "They end for good, with what of them is pending or running. This cannot be taken back." },
};

/** What can be done to the jobs that are picked. */
export function Bulk({ selection, total, onPage, conditions, onDone }) {
  const [action, setAction] = useState(null);
  const target = selection.isAll ? { filter: conditions } : { job_ids: [...selection.ids] };
  const amount = selection.isAll ? total : selection.ids.size;
  const isPage = !selection.isAll && onPage.length < total && onPage.every((id) => selection.has(id));
  const close = (isDone) => {
    setAction(null);
    if (!isDone) return;
    selection.clear();
    onDone();
  };
  return html`<div class="bulk" role="region" aria-label="Jobs that are picked">
    <strong class="numeric">${count(amount)} picked</strong>
    ${isPage && html`<${Button} size="small" tone="quiet" onClick=${selection.all}>Pick all ${count(total)} that match</${Button}>`}
    <span class="bulk-actions">${Object.entries(ACTIONS).map(([name, { label, icon, tone }]) => html`<${Button} key=${name} size="small" icon=${icon} tone=${tone} onClick=${() => setAction(name)}>${label}</${Button}>`)}</span>
    <${Button} size="small" tone="quiet" icon="close" label="Let go of all" onClick=${selection.clear} />
    ${action && html`<${Preview} action=${action} target=${target} onClose=${close} />`}
  </div>`;
}

function Preview({ action, target, onClose }) {
  const { label, tone = "primary", tells, done } = ACTIONS[action];
  const preview = useResource((signal) => api.jobs.bulk({ action, ...target, dry_run: true }, signal), []);
  const [outcome, setOutcome] = useState(null);
  const [problem, setProblem] = useState(null);
  const changed = preview.data?.changed ?? 0;
  const act = async () => {
    setProblem(null);
    try {
      const told = await api.jobs.bulk({ action, ...target, dry_run: false });
      said(`${plural(told.changed, "job")} ${done}${told.refused.length ? `, ${count(told.matched - told.changed - told.unchanged)} refused` : ""}`);
      if (told.refused.length) setOutcome(told);
      else onClose(true);
    } catch (refusal) {
      setProblem(refusal);
    }
  };
  const footer = outcome
    ? html`<${Button} tone="primary" onClick=${() => onClose(true)}>Done</${Button}>`
    : html`<${Button} onClick=${() => onClose(false)}>Leave them</${Button}><${Button} tone=${tone} disabled=${!changed} onClick=${act}>${label} ${plural(changed, "job")}</${Button}>`;
  return html`<${Dialog} title=${outcome ? "What was refused" : `${label} ${preview.data ? plural(changed, "job") : "jobs"}?`} onClose=${() => onClose(outcome !== null)} footer=${footer}>
    ${problem && html`<${Failure} problem=${problem} />`}
    ${outcome ? html`<${Refused} refused=${outcome.refused} />` : html`<p>${tells}</p><${Awaited} of=${preview}>${(told) => html`<${Told} told=${told} />`}</${Awaited}>`}
  </${Dialog}>`;
}

function Told({ told: { matched, changed, unchanged, refused, jobs } }) {
  const isRefused = matched - changed - unchanged;
  return html`<dl class="told">
      <div><dt>would change</dt><dd>${count(changed)}</dd></div>
      <div><dt>are so already</dt><dd>${count(unchanged)}</dd></div>
      <div><dt>would be refused</dt><dd class=${isRefused ? "tone-failed" : ""}>${count(isRefused)}</dd></div>
    </dl>
    ${jobs.length > 0 && html`<ul class="told-jobs">${jobs.map(({ id, name, status }) => html`<li key=${id}><${Mark} status=${status} /><span class="cut">${name}</span><span class="soft">${wordOf(status)}</span></li>`)}</ul>`}
    ${changed > jobs.length && html`<p class="soft">and ${count(changed - jobs.length)} more</p>`}
    ${refused.length > 0 && html`<${Refused} refused=${refused} />`}`;
}

function Refused({ refused }) {
  return html`<ul class="told-jobs">${refused.map(({ job_id, name, message }) => html`<li key=${job_id} class="is-refused"><${Mark} status="failed" /><span class="cut">${name}</span><span class="soft">${message}</span></li>`)}</ul>`;
}
