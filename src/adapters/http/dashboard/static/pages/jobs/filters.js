// How the list of jobs is narrowed: by a part of the name, how they stand, what kind they are, tags and handlers.
import { html, useRef, useState } from "../../lib/html.js";
import { api } from "../../lib/api.js";
import { brief } from "../../lib/format.js";
import { useResource } from "../../lib/resource.js";
import { setQuery } from "../../lib/router.js";
import { Button } from "../../ui/button.js";
import { Search } from "../../ui/form.js";
import { Icon } from "../../ui/icons.js";
import { JOB_STATUSES, Mark, wordOf } from "../../ui/status.js";
import { hasConditions, sortOf } from "./query.js";

const TYPES = [["", "Any type"], ["interval", "Interval"], ["cron", "Cron"], ["recurring", "Recurring"], ["one_time", "One time"], ["event", "Event"]];
const SORTS = [["created_at desc", "Newest first"], ["next_run asc", "Next run"], ["name asc", "Name"], ["priority desc", "Priority"]];

/** Jobs are counted by how they stand once `isCounted`, that the list itself does not wait for it. */
export function Filters({ query, isCounted }) {
  const search = useRef(null);
  const metrics = useResource(isCounted ? (signal) => api.metrics("1h", signal) : null, [isCounted], { facts: ["tocsin.job."] });
  const statuses = query.getAll("status");
  const narrow = (changes) => setQuery({ ...changes, offset: null });
  const toggle = (status) => narrow({ status: statuses.includes(status) ? statuses.filter((each) => each !== status) : [...statuses, status] });
  const { by, order } = sortOf(query);
  const counted = metrics.problem ? {} : metrics.data?.jobs ?? {};
  const isShown = (status) => metrics.problem || counted[status] || statuses.includes(status);
  return html`<div class="filters">
    <${Search} input=${search} label="Search jobs by name" placeholder="Search names" value=${query.get("q") ?? ""} onSearch=${(q) => narrow({ q })} />
    <div class="row is-tight" role="group" aria-label="Status">${JOB_STATUSES.filter(isShown).map((status) => html`
      <button key=${status} type="button" class="button is-small" aria-pressed=${String(statuses.includes(status))} onClick=${() => toggle(status)}><${Mark} status=${status} />${wordOf(status)}<span class="soft numeric">${counted[status] === undefined ? "" : brief(counted[status])}</span></button>`)}</div>
    <select class="input is-fit" aria-label="Type" onChange=${(event) => narrow({ type: event.currentTarget.value })}>${TYPES.map(([value, name]) => html`<option value=${value} selected=${(query.get("type") ?? "") === value}>${name}</option>`)}</select>
    <select class="input is-fit" aria-label="Order" onChange=${(event) => sorted(event.currentTarget.value)}>
      ${SORTS.every(([value]) => value !== `${by} ${order}`) && html`<option selected>Another order</option>`}
      ${SORTS.map(([value, name]) => html`<option value=${value} selected=${value === `${by} ${order}`}>${name}</option>`)}</select>
    <${AddTag} query=${query} narrow=${narrow} />
    <${Chosen} query=${query} narrow=${narrow} />
  </div>`;
}

function sorted(value) {
  const [sort, order] = value.split(" ");
  setQuery({ sort: sort === "created_at" ? null : sort, order: sort === "created_at" ? null : order, offset: null });
}

function AddTag({ query, narrow }) {
  const [text, setText] = useState("");
  const tags = query.getAll("tag");
  const add = (event) => {
    event.preventDefault();
    const tag = text.trim();
    if (tag && !tags.includes(tag)) narrow({ tag: [...tags, tag] });
    setText("");
  };
  return html`<form class="add-tag" onSubmit=${add}><input class="input" aria-label="Filter by tag" placeholder="Tag" value=${text} onInput=${(event) => setText(event.currentTarget.value)} autocomplete="off" spellcheck="false" /></form>`;
}

/** What is filtered by beside the name, each with a way to let go of it. */
function Chosen({ query, narrow }) {
  const chosen = ["tag", "handler"].flatMap((name) => query.getAll(name).map((value) => ({ name, value })));
  if (!hasConditions(query)) return null;
  const without = ({ name, value }) => narrow({ [name]: query.getAll(name).filter((each) => each !== value) });
  return html`<div class="row is-tight">${chosen.map((each) => html`<button key=${`${each.name} ${each.value}`} type="button" class="chip" onClick=${() => without(each)} aria-label=${`Without ${each.name} ${each.value}`}>
    <span class="soft">${each.name}</span> ${each.value}<${Icon} name="close" size=${12} /></button>`)}
    <${Button} tone="quiet" size="small" onClick=${() => narrow({ q: null, status: null, type: null, tag: null, handler: null })}>Clear filters</${Button}></div>`;
}
