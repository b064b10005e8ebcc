// The focus never falls out of a page: where what had it is gone, the heading takes it, which says where one is.
let last = null;

const heading = () => document.querySelector("dialog[open] h2") ?? document.querySelector("main h1") ?? document.querySelector("main");

/** Watch over the focus within an element that stays. */
export function keepFocus(within) {
  document.addEventListener("focusin", (event) => {
    last = event.target;
  });
  new MutationObserver(() => last && !last.isConnected && requestAnimationFrame(restore)).observe(within, { childList: true, subtree: true });
}

function restore() {
  // Who gave the focus away, by a click into nothing, has a last element that is still there.
  if (last === null || last.isConnected || document.activeElement !== document.body) return;
  last = null;
  heading()?.focus({ preventScroll: true });
}
