// What an event handler does, as fields or as JSON.
import { html, useEffect, useState } from "../../lib/html.js";
import { api } from "../../lib/api.js";
import { useResource } from "../../lib/resource.js";
import { Choice, Search, Select, TextArea, TextField } from "../../ui/form.js";
import { faultOfJson, readJson, writeJson } from "../events/json.js";
import { EMPTY, TYPES, cleaned, delayOf } from "./actions.js";

const AS = [["fields", "Fields"], ["json", "JSON"]];
const KINDS = [["function", "Function"], ["http", "HTTP"], ["command", "Command"], ["agent", "Agent"], ["workflow", "Workflow"]];
const CONFLICTS = [["keep", "Keep the one that is there"], ["replace", "Replace it: the delay begins anew"]];
const TEMPLATE = "Texts may hold {{ event.data.id }} or any other CEL.";
const JOBS = 50;

/** `blame(field, isWrong)` says whether a field is no JSON yet. */
export function ActionFields({ action, problem, blame, onChange }) {
  const [as, setAs] = useState("fields");
  const Fields = FIELDS[action.type];
  const set = (changes) => onChange({ ...action, ...changes });
  const of = (field) => problem?.of?.(`action.${field}`);
  return html`<div class="stack">
    <div class="row"><${Choice} label="Edit the action as" value=${as} options=${AS} onChange=${setAs} /></div>
    ${as === "json"
      ? html`<${Json} label="Action" rows=${12} value=${cleaned(action)} blame=${blame} onChange=${(value) => isAction(value) && onChange(value)} fault=${faultOfAction} hint="As POST /api/v1/event-handlers takes it." />`
      : html`<div class="fields"><${Select} label="Action" isWide value=${action.type} options=${TYPES} onChange=${(type) => onChange(EMPTY[type])} /><${Fields} key=${action.type} action=${action} set=${set} of=${of} blame=${blame} /></div>`}
  </div>`;
}

const isAction = (value) => EMPTY[value?.type] !== undefined;
const faultOfAction = (value) => (isAction(value) ? null : `"type" must be one of ${Object.keys(EMPTY).join(", ")}`);

/** A field that holds JSON; it tells what was typed once that is some. */
function Json({ label, value, onChange, blame, fault = () => null, ...rest }) {
  const [text, setText] = useState(writeJson(value));
  const wrong = faultOfJson(text) ?? fault(readJson(text));
  useEffect(() => {
    blame(label, wrong !== null);
    return () => blame(label, false);
  }, [wrong !== null]);
  const typed = (next) => {
    setText(next);
    if (faultOfJson(next) === null) onChange(readJson(next));
  };
  return html`<${TextArea} ...${rest} label=${label} mono value=${text} onInput=${typed} error=${wrong} />`;
}

function CallFields({ action: { handler_name: name, handler_type: type, payload }, set, of, blame }) {
  return html`<${Select} label="Kind" value=${type} options=${KINDS} onChange=${(value) => set({ handler_type: value })} />
    <${TextField} label="Handler" mono value=${name} onInput=${(value) => set({ handler_name: value })} error=${of("handler_name")} hint="Such as reports.large_order" autocomplete="off" spellcheck="false" />
    <${Json} label="Payload" value=${payload} blame=${blame} onChange=${(value) => set({ payload: value })} hint=${`${TEMPLATE} Empty: it finds the event under event.`} />`;
}

function RunJobFields({ action: { job_id: chosen, payload }, set, of, blame }) {
  const [text, setText] = useState("");
  const jobs = useResource((signal) => api.jobs.list({ name_contains: text, sort_by: "name", limit: JOBS }, signal), [text]);
  const current = useResource(chosen ? (signal) => api.jobs.get(chosen, signal) : null, [chosen]);
  const found = (jobs.data?.items ?? []).filter(({ id }) => id !== chosen);
  const options = [["", "Choose one"], ...(chosen ? [[chosen, current.data?.name ?? chosen]] : []), ...found.map(({ id, name }) => [id, name])];
  return html`<div class="field is-wide"><${Search} label="Search jobs by name" placeholder="Search jobs" value=${text} onSearch=${setText} /></div>
    <${Select} label="Job" isWide isRequired value=${chosen} options=${options} onChange=${(id) => set({ job_id: id })} error=${of("job_id")} />
    <${Json} label="Payload" value=${payload} blame=${blame} onChange=${(value) => set({ payload: value })} hint=${`Merged over the job's own. ${TEMPLATE}`} />`;
}

function CreateJobFields({ action, set, of, blame }) {
  const { job, on_conflict: onConflict } = action;
  const setJob = (changes) => set({ job: { ...job, ...changes } });
  const text = (field) => ({ value: job[field] ?? "", onInput: (value) => setJob({ [field]: value }), error: of(`job.${field}`), autocomplete: "off", spellcheck: "false" });
  return html`<${TextField} label="Name of the job" ...${text("name")} hint="May hold {{ event.data.id }}" />
    <${TextField} label="Handler" mono ...${text("handler_name")} hint="What the job calls" />
    <${TextField} label="Delay" mono value=${delayOf(action)} onInput=${(delay) => set({ delay })} error=${of("delay")} hint="Such as 48h; empty: at once" autocomplete="off" />
    <${TextField} label="Key of the job" mono ...${text("key")} hint="By which another event can cancel it" />
    <${Select} label="If a live job has the key" isWide value=${onConflict} options=${CONFLICTS} onChange=${(value) => set({ on_conflict: value })} />
    <${Json} label="Payload" value=${job.payload} blame=${blame} onChange=${(payload) => setJob({ payload })} hint=${`${TEMPLATE} Further fields of the job go in as JSON.`} />`;
}

function CancelJobsFields({ action: { key, tags }, set, of }) {
  const [text, setText] = useState((tags ?? []).join(", "));
  const typed = (value) => {
    setText(value);
    set({ tags: value.split(",").map((each) => each.trim()).filter(Boolean) });
  };
  return html`<${TextField} label="Key" mono value=${key ?? ""} onInput=${(value) => set({ key: value })} error=${of("key") ?? of("")} hint="Of the jobs; may hold {{ event.data.id }}" autocomplete="off" />
    <${TextField} label="Tags" value=${text} onInput=${typed} error=${of("tags")} hint="Split by commas; jobs that have all of them" autocomplete="off" />`;
}

function PublishFields({ action: { name, subject, data }, set, of, blame }) {
  return html`<${TextField} label="Name of the event" mono value=${name} onInput=${(value) => set({ name: value })} error=${of("name")} hint="Such as warehouse.pick" autocomplete="off" />
    <${TextField} label="Subject" value=${subject ?? ""} onInput=${(value) => set({ subject: value })} error=${of("subject")} hint="What it is about" autocomplete="off" />
    <${Json} label="Data" value=${data} blame=${blame} onChange=${(value) => set({ data: value })} hint=${TEMPLATE} />`;
}

const FIELDS = { call: CallFields, run_job: RunJobFields, create_job: CreateJobFields, cancel_jobs: CancelJobsFields, publish: PublishFields };
