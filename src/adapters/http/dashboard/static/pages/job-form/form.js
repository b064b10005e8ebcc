// The fields of a job: when it fires, what it does, and how it goes on when something goes wrong.
import { html, useId } from "../../lib/html.js";
import { api } from "../../lib/api.js";
import { useResource } from "../../lib/resource.js";
import { Choice, Select, TextArea, TextField } from "../../ui/form.js";
import { Card } from "../../ui/page.js";
import { UNITS, WEEKDAYS, takesBody } from "./draft.js";

const KINDS = [["every", "Every …"], ["daily", "Daily"], ["weekly", "Weekly"], ["once", "Once"], ["cron", "Cron"], ["event", "On demand"]];
const HANDLERS = [["http", "HTTP call"], ["function", "Function"], ["command", "Command"]];
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].map((each) => [each, each]);
const OVERLAPS = [["skip", "Skip the later one"], ["queue_one", "Keep one waiting"], ["queue_all", "Keep all waiting"], ["allow_all", "Run side by side"]];
const MISFIRES = [["run_once", "Run once for all of them"], ["run_all", "Run each of them"], ["skip", "Leave them out"]];
const BACKOFFS = [["exponential", "Twice as long each time"], ["fixed", "The same each time"]];
const ZONES = Intl.supportedValuesOf?.("timeZone") ?? [];

/** `draft` with `set(changes)`; `wrong(field)` gives what the node said about a field. */
export function Fields({ draft, set, wrong, timing }) {
  const field = (name, rest) => ({ value: draft[name], onInput: (value) => set({ [name]: value }), error: wrong(name), ...rest });
  const pick = (name, rest) => ({ value: draft[name], onChange: (value) => set({ [name]: value }), error: wrong(name), ...rest });
  return html`
    <${Card} title="What it is called"><div class="fields">
      <${TextField} ...${field("name", { label: "Name", isRequired: true, isWide: true, placeholder: "Send invoices", maxlength: 255 })} />
      <${TextArea} ...${field("description", { label: "What it is for", rows: 2 })} />
      <${TextField} ...${field("tags", { label: "Tags", hint: "Separated by commas." })} />
      <${TextField} ...${field("key", { label: "Key", mono: true, hint: "A name for programs; only one job may have it." })} />
    </div></${Card}>
    <${Card} title="When it fires"><${When} ...${{ draft, set, field, wrong }} />${timing}</${Card}>
    <${Card} title="What it does"><div class="fields">
      <div class="field is-wide"><div><${Choice} label="What it does" value=${draft.handler_type} options=${kindsOf(draft)} onChange=${(handler_type) => set({ handler_type })} /></div></div>
      <${What} ...${{ draft, field, pick, wrong }} />
    </div></${Card}>
    <${Card} title="If something goes wrong"><div class="fields">
      <${TextField} ...${field("max_retries", { label: "Retries", type: "number", min: 0, step: 1 })} />
      <${TextField} ...${field("retry_delay_s", { label: "Seconds before a retry", type: "number", min: 0, step: "any", error: wrong("retry_delay_ms") })} />
      <${Select} ...${pick("backoff", { label: "Before each further retry", options: BACKOFFS })} />
      <${TextField} ...${field("timeout_s", { label: "Seconds it may take", type: "number", min: 0, step: "any", error: wrong("timeout_ms") })} />
      <${Select} ...${pick("overlap_policy", { label: "While the one before still runs", options: OVERLAPS })} />
      <${Select} ...${pick("misfire_policy", { label: "Fires that nobody was there for", options: MISFIRES })} />
      <${TextField} ...${field("priority", { label: "Priority", type: "number", min: 0, max: 100, step: 1, hint: "100 goes first." })} />
    </div></${Card}>
    <datalist id="zones">${ZONES.map((zone) => html`<option value=${zone}></option>`)}</datalist>`;
}

/** Kinds that have no fields here are kept where a job has one. */
const kindsOf = ({ handler_type }) => (HANDLERS.some(([kind]) => kind === handler_type) ? HANDLERS : [...HANDLERS, [handler_type, handler_type]]);

function When({ draft, set, field, wrong }) {
  const { kind, amount, unit, weekdays } = draft;
  const zone = html`<${TextField} ...${field("timezone", { label: "Time zone", list: "zones", autocomplete: "off", spellcheck: false })} />`;
  const fault = wrong("schedule") ?? wrong("execute_at");
  return html`<div class="fields">
    <div class="field is-wide"><div><${Choice} label="When it fires" value=${kind} options=${KINDS} onChange=${(next) => set({ kind: next })} /></div></div>
    ${kind === "every" && html`<${TextField} ...${field("amount", { label: "Every", type: "number", min: 1, step: 1, error: fault })} />
      <${Select} label="Unit" value=${unit} options=${UNITS} onChange=${(next) => set({ unit: next })} />`}
    ${(kind === "daily" || kind === "weekly") && html`<${TextField} ...${field("time", { label: "At", type: "time", error: fault })} />${zone}`}
    ${kind === "weekly" && html`<div class="field is-wide"><div class="row is-tight" role="group" aria-label="Weekdays">${WEEKDAYS.map(([value, name]) => html`<button key=${value} type="button" class="button is-small" aria-pressed=${String(weekdays.includes(value))} onClick=${() => set({ weekdays: toggled(weekdays, value) })}>${name}</button>`)}</div></div>`}
    ${kind === "once" && html`<${TextField} ...${field("at", { label: "At", type: "datetime-local", error: fault })} />${zone}`}
    ${kind === "cron" && html`<${TextField} ...${field("expression", { label: "Cron", mono: true, spellcheck: false, error: fault, hint: html`minute hour day month weekday, seconds first if there are six; or <code>@hourly</code>, or <code>PT6H</code>` })} />${zone}`}
    ${kind === "event" && html`<p class="field is-wide soft">It has no times of its own: an event handler or a person starts it.</p>`}
  </div>`;
}

/** At least one day stays. */
function toggled(weekdays, day) {
  if (!weekdays.includes(day)) return [...weekdays, day];
  return weekdays.length > 1 ? weekdays.filter((each) => each !== day) : weekdays;
}

function What({ draft, field, pick, wrong }) {
  const of = (name) => wrong(`payload.${name}`);
  if (draft.handler_type === "http") {
    return html`<${Select} ...${pick("method", { label: "Method", options: METHODS, error: of("method") })} />
      <${TextField} ...${field("url", { label: "Address", type: "url", mono: true, isRequired: true, isWide: true, error: of("url") ?? wrong("payload") })} />
      <${TextArea} ...${field("headers", { label: "Headers", mono: true, rows: 2, error: of("headers"), hint: html`One a line, such as <code>Accept: text/plain</code>` })} />
      ${takesBody(draft) && html`<${TextArea} ...${field("body", { label: "Body", mono: true, error: of("body"), hint: "JSON, or else text." })} />`}`;
  }
  if (draft.handler_type === "command" && !draft.isRaw) {
    return html`<${TextArea} ...${field("shell", { label: "Line for /bin/sh", mono: true, rows: 3, isRequired: true, error: of("shell") ?? wrong("payload") ?? wrong("handler_type") ?? wrong("handler_name"), hint: html`Only where a node allows commands: <code>TOCSIN_ALLOW_COMMANDS=true</code>` })} />`;
  }
  return html`${draft.handler_type === "function" && html`<${HandlerName} field=${field} />`}
    <${TextArea} ...${field("payload", { label: "Payload", mono: true, hint: "JSON that it is given; empty for nothing.", rows: 5 })} />`;
}

function HandlerName({ field }) {
  const known = useResource(handlerNames, []);
  const list = useId();
  return html`<${TextField} ...${field("handler_name", { label: "Function", mono: true, isRequired: true, list, autocomplete: "off", spellcheck: false, isWide: true, placeholder: "shop.invoices", hint: "By the name that it is registered under on a node." })} />
    <datalist id=${list}>${known.data?.map((name) => html`<option value=${name}></option>`)}</datalist>`;
}

/** Functions that nodes have, as they tell it. */
async function handlerNames(signal) {
  const { items } = await api.workers.list(signal);
  const names = items.flatMap(({ capabilities = [] }) => capabilities).filter((each) => each.startsWith("function/")).map((each) => each.slice("function/".length));
  return [...new Set(names)].sort();
}
