// One floating hint for all drawings: what lies under the pointer.
import { html, useEffect, useLayoutEffect, useRef } from "../lib/html.js";
import { usePlace } from "../lib/router.js";
import { createStore, useStore } from "../lib/store.js";

const shown = createStore(null);

/** Show a hint (text or html) above a point of the window, or none. */
export const hint = (content, x, y) => shown.set(content === null ? null : { content, x, y });

export function Tip() {
  const tip = useStore(shown);
  const box = useRef(null);
  const { path } = usePlace();
  // Who moves on by keys has no pointer that leaves the drawing.
  useEffect(() => hint(null), [path]);
  useLayoutEffect(() => {
    if (!tip) return;
    const { offsetWidth: width, offsetHeight: height } = box.current;
    box.current.style.left = `${Math.max(8, Math.min(tip.x - width / 2, innerWidth - width - 8))}px`;
    box.current.style.top = `${tip.y - height - 10 < 8 ? tip.y + 18 : tip.y - height - 10}px`;
  }, [tip]);
  return tip && html`<div ref=${box} class="tip" aria-hidden="true">${tip.content}</div>`;
}
