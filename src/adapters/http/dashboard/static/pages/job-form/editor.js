// The form around the fields of a job: it sends, and leads to what was refused.
import { html, useEffect, useRef, useState } from "../../lib/html.js";
import { Problem } from "../../lib/api.js";
import { Failure } from "../../ui/states.js";
import { timing } from "./draft.js";
import { Fields } from "./form.js";
import { Fires } from "./fires.js";

/** `onSave()` promises; a Problem that it throws is shown at its fields. `before` is the timing of the job as it is. */
export function Editor({ draft, set, onSave, buttons, what, before = null }) {
  const form = useRef(null);
  const [problem, setProblem] = useState(null);
  const [misread, setMisread] = useState(null);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    if (problem) form.current.querySelector("[aria-invalid=true], .failure")?.scrollIntoView({ block: "center" });
    if (problem) form.current.querySelector("[aria-invalid=true]")?.focus();
  }, [problem]);
  const wrong = (field) => problem?.of(field) ?? (field === "schedule" || field === "timezone" ? (misread?.of?.(field) ?? null) : null);
  const save = async (event) => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    try {
      await onSave();
    } catch (refusal) {
      setProblem(problemOf(refusal));
    } finally {
      setBusy(false);
    }
  };
  const change = (changes) => {
    set(changes);
    setProblem(null);
  };
  return html`<form ref=${form} class="editor" noValidate onSubmit=${save} aria-busy=${isBusy || undefined}>
    ${problem && html`<${Failure} title=${what} problem=${problem} />`}
    <${Fields} draft=${draft} set=${change} wrong=${wrong} timing=${html`<${Fires} timing=${timing(draft)} before=${before} onWrong=${setMisread} />`} />
    <div class="editor-foot">${buttons}</div>
  </form>`;
}

function problemOf(refusal) {
  if (refusal instanceof Problem) return refusal;
  if (!refusal.field) throw refusal;
  return new Problem({ title: refusal.message, detail: "It was not sent.", errors: [{ field: refusal.field, message: refusal.message }] });
}
