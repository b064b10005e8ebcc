// Dialogs: the browser's own, which keep the focus inside, close on Escape and give the focus back.
import { html, useEffect, useId, useRef } from "../lib/html.js";
import { createStore, useStore } from "../lib/store.js";
import { Button } from "./button.js";

/** A dialog that is open as long as it is rendered; `footer` holds its buttons. */
export function Dialog({ title, children, footer, onClose }) {
  const id = useId();
  const dialog = useRef(null);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current.showModal();
    return () => before?.focus?.();
  }, []);
  const clicked = (event) => event.target === dialog.current && onClose();
  return html`<dialog ref=${dialog} class="dialog" aria-labelledby=${id} onCancel=${(event) => { event.preventDefault(); onClose(); }} onMouseDown=${clicked}>
    <div class="dialog-inside">
      <header class="dialog-head"><h2 id=${id} tabindex="-1">${title}</h2><${Button} tone="quiet" size="small" icon="close" label="Close" onClick=${onClose} /></header>
      <div class="dialog-body" tabindex="0">${children}</div>
      ${footer && html`<footer class="dialog-foot">${footer}</footer>`}
    </div>
  </dialog>`;
}

const question = createStore(null);

/** Ask before something that cannot be undone; answers whether to go on. */
export const confirmed = ({ title, text, action, tone = "danger", keep = "Keep it" }) =>
  new Promise((resolve) => question.set({ title, text, action, tone, keep, resolve }));

export function Confirmation() {
  const asked = useStore(question);
  if (!asked) return null;
  const answer = (value) => {
    question.set(null);
    asked.resolve(value);
  };
  return html`<${Dialog} title=${asked.title} onClose=${() => answer(false)} footer=${html`
    <${Button} onClick=${() => answer(false)}>${asked.keep}</${Button}>
    <${Button} tone=${asked.tone} onClick=${() => answer(true)}>${asked.action}</${Button}>`}><p>${asked.text}</p></${Dialog}>`;
}
