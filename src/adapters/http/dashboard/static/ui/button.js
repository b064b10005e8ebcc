// Buttons, and menus of buttons.
import { html, useId, useRef, useState } from "../lib/html.js";
import { Icon } from "./icons.js";

/**
 * A button. `tone`: "plain" (default), "primary", "danger", "quiet". With an icon alone `label` is what it is called.
 * While the promise of `onClick` is open it is busy and takes no further click.
 */
export function Button({ children, icon, label, tone = "plain", size, onClick, href, disabled, pressed, type = "button", title, ...rest }) {
  const [isBusy, setBusy] = useState(false);
  const isAlone = !children;
  const named = `button is-${tone} ${size ? `is-${size}` : ""} ${isAlone ? "is-square" : ""} ${isBusy ? "is-busy" : ""}`;
  const inside = html`${icon && html`<${Icon} name=${icon} />`}${children && html`<span>${children}</span>`}`;
  if (href) return html`<a class=${named} href=${href} aria-label=${label} title=${title ?? (isAlone ? label : undefined)} ...${rest}>${inside}</a>`;
  const click = async (event) => {
    const doing = onClick?.(event);
    if (!(doing instanceof Promise)) return;
    setBusy(true);
    try {
      await doing;
    } finally {
      setBusy(false);
    }
  };
  return html`<button class=${named} type=${type} onClick=${click} disabled=${disabled || isBusy} aria-label=${label}
    aria-pressed=${pressed === undefined ? undefined : String(pressed)} aria-busy=${isBusy || undefined}
    title=${title ?? (isAlone ? label : undefined)} ...${rest}>${inside}</button>`;
}

/**
 * A button that opens a menu. `items`: `{label, icon?, onClick? | href?, tone?: "danger", disabled?}`, or null for a line
 * between two. It lies in the top layer, so nothing cuts it off, and closes by itself.
 */
export function Menu({ label, icon = "more", items, children, tone = "quiet", size = "small" }) {
  const id = useId();
  const button = useRef(null);
  const menu = useRef(null);
  const [isOpen, setOpen] = useState(false);
  const toggled = (event) => {
    setOpen(event.newState === "open");
    if (event.newState !== "open") return;
    const at = button.current.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = menu.current;
    const isBelow = at.bottom + height + 8 < innerHeight || at.top < height;
    menu.current.style.top = `${Math.max(8, isBelow ? at.bottom + 4 : at.top - height - 4)}px`;
    menu.current.style.left = `${Math.max(8, Math.min(at.right - width, innerWidth - width - 8))}px`;
    entries()[0]?.focus();
  };
  const entries = () => [...menu.current.querySelectorAll("[role=menuitem]:not([disabled])")];
  const moved = (event) => {
    const all = entries();
    const at = all.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    all[(to + all.length) % all.length]?.focus();
  };
  const chosen = (item) => (event) => {
    menu.current.hidePopover();
    button.current.focus();
    return item.onClick?.(event);
  };
  return html`<span class="menu">
    <button ref=${button} class=${`button is-${tone} is-${size} ${children ? "" : "is-square"}`} type="button" popovertarget=${id}
      aria-haspopup="menu" aria-expanded=${String(isOpen)} aria-label=${children ? undefined : label} title=${children ? undefined : label}>
      <${Icon} name=${icon} />${children && html`<span>${children}</span>`}
    </button>
    <div ref=${menu} id=${id} class="menu-list" popover="auto" role="menu" aria-label=${label} onToggle=${toggled} onKeyDown=${moved}>
      ${items.map((item) => {
        if (item === null) return html`<hr />`;
        const inside = html`${item.icon && html`<${Icon} name=${item.icon} />`}<span>${item.label}</span>`;
        const named = item.tone === "danger" ? "is-danger" : "";
        return item.href
          ? html`<a role="menuitem" tabindex="-1" class=${named} href=${item.href} onClick=${() => menu.current.hidePopover()}>${inside}</a>`
          : html`<button role="menuitem" tabindex="-1" type="button" class=${named} disabled=${item.disabled} onClick=${chosen(item)}>${inside}</button>`;
      })}
    </div>
  </span>`;
}
