// Keys: one letter, or two one after the other. Nothing is taken while a person types, or has them switched off.
import { useEffect, useRef } from "./html.js";
import { keys } from "./preferences.js";

const bindings = new Map();
const BETWEEN_MS = 1200;
let first = null;
let since = 0;

/** What all keys do, for the help: `{keys, does}` of each. */
export const listed = () => [...bindings.entries()].map(([keys, { does }]) => ({ keys, does }));

/** Bind keys such as `/`, `?` or `g j` to an action until the answer is called. */
export function bind(keys, does, action) {
  const bound = { does, action };
  bindings.set(keys, bound);
  return () => bindings.get(keys) === bound && bindings.delete(keys);
}

/** Bind keys as long as a component is shown. */
export function useKey(keys, does, action) {
  const latest = useRef(action);
  latest.current = action;
  useEffect(() => bind(keys, does, (event) => latest.current(event)), [keys, does]);
}

export function startKeyboard() {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.repeat || event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
    if (keys.get() === "off" || document.querySelector("dialog[open], [popover]:popover-open")) return;
    const both = first !== null && Date.now() - since < BETWEEN_MS ? `${first} ${event.key}` : null;
    const bound = bindings.get(both) ?? bindings.get(event.key);
    first = bound ? null : event.key;
    since = Date.now();
    if (!bound) return;
    event.preventDefault();
    bound.action(event);
  });
}

function isTyping(target) {
  return target.closest?.("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]") != null;
}
