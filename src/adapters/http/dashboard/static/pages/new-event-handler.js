// A new standing rule, tried on an event before it is saved.
import { html } from "../lib/html.js";
import { api } from "../lib/api.js";
import { useResource } from "../lib/resource.js";
import { navigate, usePlace } from "../lib/router.js";
import { Page } from "../ui/page.js";
import { Awaited } from "../ui/states.js";
import { Editor } from "./event-handlers/editor.js";

/** `?sample=ID` begins with an event that was there. */
export default function NewEventHandler() {
  const { query } = usePlace();
  const id = query.get("sample");
  const sample = useResource((signal) => (id ? api.events.get(id, signal) : Promise.resolve({ isNone: true })), [id]);
  return html`<${Page} title="New event handler" above=${[{ label: "Event handlers", href: "/event-handlers" }]}>
    <${Awaited} of=${sample} lines=${6}>${(event) => html`<${Editor} sample=${event.isNone ? null : event} onDone=${({ id: made }) => navigate(`/event-handlers/${made}`)} onLeave=${() => navigate("/event-handlers")} />`}</${Awaited}>
  </${Page}>`;
}
