// Tables that become cards where they have no room, and the way through their pages.
import { html, useRef } from "../lib/html.js";
import { count } from "../lib/format.js";
import { setQuery } from "../lib/router.js";
import { Button } from "./button.js";
import { Icon } from "./icons.js";
import { Empty } from "./states.js";

/**
 * A table. `columns`: `{key, title, cell(row), align?: "right", sort?: name, width?, card?: "title" | "wide" | "none",
 * label?: shown before the value in a card (default: title)}`. `sort`: `{by, order}`, `onSort(by, order)`.
 * `selection`: `{has(key), toggle(keys, on)}`. `rowKey(row)` names a row, `rowLabel(row)` says which it is.
 */
export function Table({ label, columns, rows, rowKey, rowLabel = rowKey, sort, onSort, selection, isStale }) {
  const anchor = useRef(null);
  const keys = rows.map(rowKey);
  const areAll = keys.length > 0 && selection && keys.every((key) => selection.has(key));
  const pick = (key, event) => {
    const isOn = event.currentTarget.checked;
    const [from, to] = [keys.indexOf(anchor.current), keys.indexOf(key)].sort((a, b) => a - b);
    selection.toggle(event.shiftKey && from !== -1 ? keys.slice(from, to + 1) : [key], isOn);
    anchor.current = key;
  };
  return html`<div class="table-box">
    <table class=${`table ${selection ? "has-selection" : ""} ${isStale ? "is-stale" : ""}`} role="table" aria-label=${label} aria-busy=${isStale || undefined}>
      <thead role="rowgroup"><tr role="row">
        ${selection && html`<th role="columnheader" class="pick"><input type="checkbox" aria-label="Select all on this page" checked=${areAll}
          indeterminate=${!areAll && keys.some((key) => selection.has(key))} onChange=${(event) => selection.toggle(keys, event.currentTarget.checked)} /></th>`}
        ${columns.map((column) => html`<${Head} key=${column.key} column=${column} sort=${sort} onSort=${onSort} />`)}
      </tr></thead>
      <tbody role="rowgroup">
        ${rows.map((row, index) => html`<tr key=${keys[index]} role="row" class=${selection?.has(keys[index]) ? "is-picked" : ""}>
          ${selection && html`<td role="cell" class="pick"><input type="checkbox" aria-label=${`Select ${rowLabel(row)}`} checked=${selection.has(keys[index])} onClick=${(event) => pick(keys[index], event)} /></td>`}
          ${columns.map((column) => html`<td key=${column.key} role="cell" class=${classOf(column)} data-label=${column.label ?? column.title}>${column.cell(row)}</td>`)}
        </tr>`)}
      </tbody>
    </table>
  </div>`;
}

const classOf = ({ key, align, card }) => `cell-${key} ${align === "right" ? "is-right" : ""} ${card ? `card-${card}` : ""}`;

function Head({ column, sort, onSort }) {
  const { title, sort: by, width } = column;
  const isBy = by && sort?.by === by;
  const style = width ? { width } : undefined;
  if (!by) return html`<th role="columnheader" scope="col" class=${classOf(column)} style=${style}>${title}</th>`;
  const next = isBy && sort.order === "asc" ? "desc" : "asc";
  return html`<th role="columnheader" scope="col" class=${classOf(column)} style=${style} aria-sort=${isBy ? `${sort.order}ending` : "none"}>
    <button type="button" class=${`sort ${isBy ? "is-on" : ""}`} onClick=${() => onSort(by, next)}>${title}<${Icon} name=${isBy && sort.order === "desc" ? "down" : "up"} size=${12} /></button></th>`;
}

/**
 * A page of a list with the way to others, which is kept in the address as `offset`: `none` where the whole list has
 * nothing, `children` (the table) where this part of it has something.
 */
export function Listed({ page, offset, what, none, children }) {
  if (page.total === 0) return none;
  return html`${page.items.length ? children : html`<${Empty} isSlim icon="last" title="The list ends before this part" text=${`It has ${count(page.total)} ${what} by now.`} />`}
    <${Pager} total=${page.total} limit=${page.limit} at=${offset} what=${what} />`;
}

function Pager({ total, limit, at, what }) {
  const last = Math.max(0, Math.ceil(total / limit) - 1) * limit;
  const move = (to) => () => setQuery({ offset: to || null }, { replace: false });
  return html`<nav class="pager" aria-label="Parts of this list">
    <span class="soft numeric">${at < total ? `${count(at + 1)}–${count(Math.min(at + limit, total))}` : "none"} of ${count(total)} ${what}</span>
    <span class="row is-tight">
      <${Button} size="small" icon="first" label="First page" disabled=${at === 0} onClick=${move(0)} />
      <${Button} size="small" icon="left" label="Previous page" disabled=${at === 0} onClick=${move(Math.max(0, Math.min(at - limit, last)))} />
      <${Button} size="small" icon="right" label="Next page" disabled=${at >= last} onClick=${move(at + limit)} />
      <${Button} size="small" icon="last" label="Last page" disabled=${at === last} onClick=${move(last)} />
    </span>
  </nav>`;
}
