// A dialog that publishes one event.
import { html, useState } from "../../lib/html.js";
import { api } from "../../lib/api.js";
import { plural } from "../../lib/format.js";
import { Button } from "../../ui/button.js";
import { Dialog } from "../../ui/dialog.js";
import { TextArea, TextField } from "../../ui/form.js";
import { Failure } from "../../ui/states.js";
import { said } from "../../ui/toast.js";
import { faultOfJson, readJson } from "./json.js";

const FIELDS = ["name", "data", "idempotency_key", "subject", "source"];

/** `given`: an event to begin with; `onSent` is called when it was published. */
export function Send({ given = {}, onClose, onSent }) {
  const [name, setName] = useState(given.name ?? "");
  const [data, setData] = useState(JSON.stringify(given.data ?? { id: 7, total: 150 }, null, 2));
  const [told, setTold] = useState({ idempotency_key: "", subject: given.subject ?? "", source: given.source ?? "" });
  const [problem, setProblem] = useState(null);
  const fault = faultOfJson(data);
  const send = async () => {
    setProblem(null);
    try {
      const named = Object.fromEntries(Object.entries(told).filter(([, value]) => value));
      const outcome = await api.events.publish({ name: name.trim(), data: readJson(data), ...named });
      said(words(name.trim(), outcome), { href: `/events/${outcome.event_id}` });
      onClose();
      onSent?.();
    } catch (refusal) {
      setProblem(refusal);
    }
  };
  const others = problem && !problem.errors?.some(({ field }) => FIELDS.includes(field));
  const rest = (field) => ({ value: told[field], error: problem?.of?.(field), onInput: (value) => setTold((before) => ({ ...before, [field]: value })) });
  return html`<${Dialog} title="Send an event" onClose=${onClose} footer=${html`<${Button} onClick=${onClose}>Close</${Button}>
    <${Button} tone="primary" icon="events" disabled=${!name.trim() || fault !== null} onClick=${send}>Send</${Button}>`}>
    ${others && html`<${Failure} problem=${problem} />`}
    <div class="fields">
      <${TextField} label="Name" isWide isRequired mono value=${name} onInput=${setName} error=${problem?.of?.("name")} hint="Segments, split at . and :, such as order.created" autofocus autocomplete="off" spellcheck="false" />
      <${TextArea} label="Data" mono rows=${7} value=${data} onInput=${setData} error=${fault ?? problem?.of?.("data")} hint="Any JSON; empty stands for none." />
      <${TextField} label="Idempotency key" isWide mono ...${rest("idempotency_key")} hint="The same key again happens once, and answers what the first came to." autocomplete="off" />
      <${TextField} label="Subject" ...${rest("subject")} hint="What it is about" autocomplete="off" />
      <${TextField} label="Source" ...${rest("source")} hint="Who tells it" autocomplete="off" />
    </div>
  </${Dialog}>`;
}

function words(name, { matched, duplicate }) {
  if (duplicate) return `${name} had been sent with this key before; nothing was done`;
  return matched ? `${name} was sent; ${plural(matched, "handler")} acted` : `${name} was sent; no handler acted`;
}
