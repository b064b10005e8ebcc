// What was done, said once in a corner, and read out.
import { html } from "../lib/html.js";
import { createStore, useStore } from "../lib/store.js";
import { Button } from "./button.js";
import { Icon } from "./icons.js";

const shown = createStore([]);
const SHOWN_MS = 6000;
let last = 0;

function add(toast) {
  const id = ++last;
  shown.set([...shown.get().slice(-3), { id, ...toast }]);
  // What went wrong stays until it was read.
  if (toast.tone !== "failed") setTimeout(() => dismiss(id), SHOWN_MS);
}

const dismiss = (id) => shown.set(shown.get().filter((each) => each.id !== id));

/** Say what was done; `href` leads to it. */
export const said = (text, { href, link = "Show" } = {}) => add({ tone: "success", text, href, link });

/** Say what was refused, in the words of its Problem. */
export const refused = (problem, doing) => {
  if (problem.name === "AbortError") return;
  const details = problem.errors?.map((each) => `${each.field} ${each.message}`).join("; ");
  add({ tone: "failed", text: `${doing ? `${doing}: ` : ""}${problem.detail ?? problem.message}${details ? ` (${details})` : ""}` });
};

/**
 * Do something, and say that it was done or why not; `done` is a text or makes `{text, href}` of the answer.
 * Answers what `action` answered, or undefined if it was refused.
 */
export async function doing(action, done, what) {
  try {
    const answer = await action();
    const told = typeof done === "function" ? done(answer) : done;
    if (told) said(told.text ?? told, told);
    return answer;
  } catch (problem) {
    refused(problem, what);
    return undefined;
  }
}

export function Toasts() {
  const toasts = useStore(shown);
  return html`<div class="toasts" role="region" aria-label="Messages"><div role="status" aria-live="polite">${toasts.map(
    ({ id, tone, text, href, link }) => html`<div key=${id} class=${`toast tone-${tone}`}>
      <${Icon} name=${tone === "failed" ? "warning" : "check"} /><span>${text}</span>
      ${href && html`<a href=${href} onClick=${() => dismiss(id)}>${link}</a>`}
      <${Button} tone="quiet" size="small" icon="close" label="Dismiss" onClick=${() => dismiss(id)} />
    </div>`,
  )}</div></div>`;
}
