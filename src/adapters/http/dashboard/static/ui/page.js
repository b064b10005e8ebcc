// What every page is made of: its head, cards, and lists of what something has.
import { html, useEffect } from "../lib/html.js";
import { Icon } from "./icons.js";

/**
 * A page. `title` names the tab too; `above` is where it lies: `[{label, href}]`; `actions` stand opposite the title.
 * The shell moves the focus to its heading after each move.
 */
export function Page({ title, name = title, above = [], aside, actions, children }) {
  useEffect(() => {
    document.title = `${name} · Tocsin`;
  }, [name]);
  return html`<div class="page">
    ${above.length > 0 && html`<nav class="above" aria-label="Above this page">${above.map(({ label, href }) => html`<a href=${href}>${label}</a><${Icon} name="right" size=${12} />`)}</nav>`}
    <header class="page-head"><div class="page-title"><h1 tabindex="-1">${title}</h1>${aside}</div>${actions && html`<div class="row">${actions}</div>`}</header>
    ${children}
  </div>`;
}

/** A panel with a heading; `aside` stands opposite it. `flush` lets a table reach its edges. */
export function Card({ title, aside, children, flush, class: named = "" }) {
  return html`<section class=${`card ${flush ? "is-flush" : ""} ${named}`} aria-label=${title}>
    ${title && html`<header class="card-head"><h2>${title}</h2>${aside && html`<div class="card-aside">${aside}</div>`}</header>`}
    <div class="card-body">${children}</div>
  </section>`;
}

/** A figure with its name and a note, in a list of class `figures`. */
export function Figure({ name, value, note }) {
  return html`<div class="figure"><dt>${name}</dt><dd class="stat-value">${value}</dd>${note && html`<dd class="figure-note soft">${note}</dd>`}</div>`;
}

/** Names with values: `items` are `[name, value]`; those whose value is null are left out. */
export function Facts({ items }) {
  return html`<dl class="facts">${items.filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** JSON as it is, or a text in lines, to read and to copy. */
export function Code({ value, label }) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return html`<pre class="code" tabindex="0" role="region" aria-label=${label}>${text}</pre>`;
}
