// The form of an event handler, new or changed, beside what its filter makes of a sample.
import { html, useRef, useState } from "../../lib/html.js";
import { api } from "../../lib/api.js";
import { Button } from "../../ui/button.js";
import { Check, Select, TextArea, TextField } from "../../ui/form.js";
import { Card } from "../../ui/page.js";
import { Failure } from "../../ui/states.js";
import { said } from "../../ui/toast.js";
import { titleOf } from "../events/impact.js";
import { faultOfJson, readJson, writeJson } from "../events/json.js";
import { ActionFields } from "./action-fields.js";
import { EMPTY, cleaned } from "./actions.js";
import { Tester } from "./tester.js";

const MODES = [["async", "Async: whoever publishes goes on"], ["sync", "Sync: whoever publishes waits"]];

/** `handler`: what is changed, else a new one is made; `sample`: an event to begin with. `onDone(handler)`. */
export function Editor({ handler: given = null, sample = null, onDone, onLeave }) {
  // What the page learns meanwhile is not what is being changed: whoever changed it too is not overwritten.
  const [handler] = useState(given);
  const [draft, setDraft] = useState(() => draftOf(handler, sample));
  const [wrong, setWrong] = useState({});
  const [problem, setProblem] = useState(null);
  const isBusy = useRef(false);
  const set = (changes) => setDraft((before) => ({ ...before, ...changes }));
  const blame = (field, isWrong) => setWrong((before) => ({ ...before, [field]: isWrong }));
  const flowFault = faultOfJson(draft.flow);
  const priorityFault = draft.priority.trim() === "" || Number.isNaN(Number(draft.priority)) ? "This takes a number" : null;
  const isReady = draft.event.trim() && flowFault === null && priorityFault === null && !Object.values(wrong).some(Boolean);
  const text = (field) => ({ value: draft[field], onInput: (value) => set({ [field]: value }), error: problem?.of?.(field), autocomplete: "off", spellcheck: "false" });
  const save = async (event) => {
    event.preventDefault();
    if (isBusy.current || !isReady) return;
    isBusy.current = true;
    setProblem(null);
    try {
      const body = bodyOf(draft);
      const saved = handler ? await api.handlers.update(handler.id, body, handler.version) : await api.handlers.create(body);
      said(handler ? `${titleOf(saved)} is changed` : `${titleOf(saved)} is asked about events from now on`);
      await onDone(saved);
    } catch (refusal) {
      setProblem(refusal);
      document.querySelector("#main")?.scrollIntoView();
    } finally {
      isBusy.current = false;
    }
  };
  return html`<div class="rule-editor">
    <div class="stack editor-rule">
      ${problem && html`<${Failure} problem=${problem} title="Not saved" />`}
      <${Card} title="This event, this filter"><div class="fields">
        <${TextField} label="Event" isWide isRequired mono ...${text("event")} hint="A name, or a pattern: in order.* the star stands for one segment, ** for one or more." />
        <${TextArea} label="Filter" mono rows=${3} ...${text("filter")} hint="CEL over event, true for what is acted upon: event.data.total > 100. Empty: every event." />
      </div></${Card}>
    </div>
    <${Tester} event=${draft.event.trim()} filter=${draft.filter.trim()} sample=${sample} />
    <form class="stack editor-rest" onSubmit=${save} noValidate>
      <${Card} title="This action"><${ActionFields} action=${draft.action} problem=${problem} blame=${blame} onChange=${(action) => set({ action })} /></${Card}>
      <${Card} title="How"><div class="fields">
        <${TextField} label="Name" ...${text("name")} hint="For people." />
        <${TextField} label="Key" mono ...${text("key")} hint="For declarations; nobody else may have it." />
        <${Select} label="Mode" value=${draft.mode} options=${MODES} onChange=${(mode) => set({ mode })} error=${problem?.of?.("mode")} />
        <${TextField} label="Priority" type="number" min="0" max="100" ...${text("priority")} error=${priorityFault ?? problem?.of?.("priority")} hint="0 to 100; higher acts first." />
        <${TextArea} label="Flow control" mono rows=${3} ...${text("flow")} error=${flowFault ?? problem?.of?.("flow")} hint='Limits as JSON: {"dedupe_seconds": 60, "key": "event.data.id"}, rate_limit, throttle, debounce, batch. Empty: none.' />
        <${Check} label="Enabled" checked=${draft.enabled} onChange=${(enabled) => set({ enabled })} hint="A disabled one is not asked." />
      </div></${Card}>
      <div class="row"><${Button} type="submit" tone="primary" disabled=${!isReady}>${handler ? "Save changes" : "Make the handler"}</${Button}><${Button} onClick=${onLeave}>Leave</${Button}></div>
    </form>
  </div>`;
}

function draftOf(handler, sample) {
  const { name, key, event = sample?.name, filter, mode = "async", priority = 50, enabled = true, flow, action } = handler ?? {};
  const limits = Object.fromEntries(Object.entries(flow ?? {}).filter(([, value]) => value !== null));
  return {
    event: event ?? "",
    filter: filter ?? "",
    name: name ?? "",
    key: key ?? "",
    mode,
    priority: String(priority),
    enabled,
    flow: Object.keys(limits).length ? writeJson(limits) : "",
    action: action ?? EMPTY.call,
  };
}

function bodyOf({ event, filter, name, key, mode, priority, enabled, flow, action }) {
  return {
    event: event.trim(),
    filter: filter.trim() || null,
    name: name.trim() || null,
    key: key.trim() || null,
    mode,
    priority: Number(priority),
    enabled,
    flow: readJson(flow) ?? {},
    action: cleaned(action),
  };
}
