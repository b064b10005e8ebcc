// What can be done to a job, and running it now with another payload than its own.
import { html, useState } from "../../lib/html.js";
import { api } from "../../lib/api.js";
import { useKey } from "../../lib/keyboard.js";
import { navigate } from "../../lib/router.js";
import { Button, Menu } from "../../ui/button.js";
import { Dialog, confirmed } from "../../ui/dialog.js";
import { TextArea } from "../../ui/form.js";
import { Failure } from "../../ui/states.js";
import { doing, said } from "../../ui/toast.js";
import { cancelJob } from "./acts.js";

export function Actions({ job, reload, onRun, onEdit }) {
  const { id, name, status } = job;
  const isOver = status === "cancelled";
  const pause = () => doing(() => api.jobs.pause(id), `${name} is paused`, "Not paused").then(reload);
  const resume = () => doing(() => api.jobs.resume(id), `${name} fires again`, "Not resumed").then(reload);
  useKey("e", "Edit this job", () => isOver || onEdit());
  useKey("r", "Run this job now", () => isOver || onRun());
  return html`
    <${Menu} label=${`More actions for ${name}`} tone="plain" size="medium" items=${[
      { label: "All its executions", icon: "executions", href: `/executions?job_id=${id}` },
      null,
      { label: "Cancel for good", icon: "cancel", tone: "danger", disabled: isOver, onClick: () => cancelJob(job, reload) },
      { label: "Delete", icon: "trash", tone: "danger", onClick: () => remove(job) },
    ]} />
    ${status === "active" && html`<${Button} icon="pause" onClick=${pause}>Pause</${Button}>`}
    ${status === "paused" && html`<${Button} icon="resume" onClick=${resume}>Resume</${Button}>`}
    <${Button} icon="edit" onClick=${onEdit} disabled=${isOver}>Edit</${Button}>
    <${Button} tone="primary" icon="play" onClick=${onRun} disabled=${isOver}>Run now</${Button}>`;
}

async function remove({ id, name, version }) {
  const text = "It fires no more and is gone from the list. Its executions stay until retention removes them.";
  if (!(await confirmed({ title: `Delete ${name}?`, text, action: "Delete the job" }))) return;
  const isGone = await doing(async () => { await api.jobs.remove(id, version); return true; }, `${name} is deleted`, "Not deleted");
  if (isGone) navigate("/jobs");
}

/** Ask for a payload, and run the job with it. */
export function RunNow({ job: { id, name, payload }, onClose }) {
  const own = payload === null ? "" : JSON.stringify(payload, null, 2);
  const [text, setText] = useState(own);
  const [error, setError] = useState(null);
  const [refusal, setRefusal] = useState(null);
  const run = async (event) => {
    event?.preventDefault();
    let body;
    try {
      body = text.trim() === own.trim() ? {} : { payload: text.trim() ? JSON.parse(text) : null };
    } catch (problem) {
      setError(`This is not JSON: ${problem.message}`);
      return;
    }
    setRefusal(null);
    try {
      const made = await api.jobs.trigger(id, body);
      said(`${name} runs now`);
      navigate(`/executions/${made.id}`);
    } catch (problem) {
      setRefusal(problem);
    }
  };
  const typed = (value) => {
    setText(value);
    setError(null);
  };
  return html`<${Dialog} title=${`Run ${name} now`} onClose=${onClose} footer=${html`<${Button} onClick=${onClose}>Not now</${Button}><${Button} tone="primary" icon="play" onClick=${run}>Run now</${Button}>`}>
    ${refusal && html`<${Failure} problem=${refusal} title="Not run" />`}
    <form onSubmit=${run}><${TextArea} label="Payload of this run" mono rows=${8} value=${text} onInput=${typed} error=${error} hint="JSON; as it stands here it is the job's own. Empty means none." /></form>
  </${Dialog}>`;
}
