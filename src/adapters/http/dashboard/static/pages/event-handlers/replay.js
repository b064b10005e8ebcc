// Showing past events to a handler: what would come of it is told before anything does.
import { html, useMemo, useState } from "../../lib/html.js";
import { api, serverNow } from "../../lib/api.js";
import { count, plural } from "../../lib/format.js";
import { useResource } from "../../lib/resource.js";
import { Button } from "../../ui/button.js";
import { Dialog } from "../../ui/dialog.js";
import { Choice } from "../../ui/form.js";
import { Awaited, Failure } from "../../ui/states.js";
import { said } from "../../ui/toast.js";
import { titleOf } from "../events/impact.js";

const HOUR_MS = 3600000;
const WINDOWS = [["1", "1 hour"], ["24", "24 hours"], ["168", "7 days"], ["720", "30 days"]];

export function Replay({ handler, onClose, onDone }) {
  const [hours, setHours] = useState("24");
  const [problem, setProblem] = useState(null);
  // The same window is shown and then acted upon.
  const since = useMemo(() => new Date(serverNow() - Number(hours) * HOUR_MS).toISOString(), [hours]);
  const trial = useResource((signal) => api.handlers.replay(handler.id, { since, dry_run: true }, signal), [since]);
  const acted = trial.isLoading ? 0 : trial.data?.acted ?? 0;
  const act = async () => {
    setProblem(null);
    try {
      const done = await api.handlers.replay(handler.id, { since, dry_run: false });
      said(`${titleOf(handler)} acted upon ${plural(done.acted, "event")}`);
      onClose();
      onDone();
    } catch (refusal) {
      setProblem(refusal);
    }
  };
  return html`<${Dialog} title="Replay past events" onClose=${onClose} footer=${html`<${Button} onClick=${onClose}>Leave them</${Button}>
    <${Button} tone="primary" icon="retry" disabled=${!acted} onClick=${act}>Act upon ${plural(acted, "event")}</${Button}>`}>
    <p>The handler is shown what has come before, as if it had been there. It acts upon no event twice, and its flow control does not apply.</p>
    <div class="row"><span class="soft">Events of the last</span><${Choice} label="Since when" value=${hours} onChange=${setHours} options=${WINDOWS} /></div>
    ${problem && html`<${Failure} problem=${problem} />`}
    <${Awaited} of=${trial}>${(told) => html`<${Told} told=${told} />`}</${Awaited}>
  </${Dialog}>`;
}

function Told({ told: { seen, acted, filtered, refused, known, reasons } }) {
  const why = Object.entries(reasons);
  return html`<p class="soft">${seen ? `${plural(seen, "event")} of such names. Nothing has been done yet.` : "No event of such a name is kept from that time."}</p>
    <dl class="told">
      <div><dt>would be acted upon</dt><dd>${count(acted)}</dd></div>
      <div><dt>acted upon already</dt><dd>${count(known)}</dd></div>
      <div><dt>filtered out</dt><dd>${count(filtered)}</dd></div>
    </dl>
    ${refused > 0 && html`<p class="tone-failed">${plural(refused, "event")} would be refused:</p>
      <ul class="reasons">${why.map(([reason, amount]) => html`<li><span>${reason}</span><span class="soft numeric">${count(amount)}</span></li>`)}</ul>`}`;
}
