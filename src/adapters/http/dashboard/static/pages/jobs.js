// All jobs: found, narrowed and sorted by the node, a page at a time, with how each has been doing.
import { html, useEffect, useMemo, useRef, useState } from "../lib/html.js";
import { api, learnNames } from "../lib/api.js";
import { useKey } from "../lib/keyboard.js";
import { useResource } from "../lib/resource.js";
import { setQuery, usePlace } from "../lib/router.js";
import { Button } from "../ui/button.js";
import { Card, Page } from "../ui/page.js";
import { Awaited, Empty, Failure } from "../ui/states.js";
import { StripKey } from "../ui/strip.js";
import { Listed, Table } from "../ui/table.js";
import { Bulk } from "./jobs/bulk.js";
import { columns } from "./jobs/columns.js";
import { Filters } from "./jobs/filters.js";
import { conditionsOf, filterOf, hasConditions, sortOf } from "./jobs/query.js";

const OUTCOMES = 50;
const EVERY_MS = 30000;

export default function Jobs() {
  const { query } = usePlace();
  const key = query.toString();
  const filter = useMemo(() => filterOf(query), [key]);
  const seen = useRef([]);
  const jobs = useResource((signal) => api.jobs.list(filter, signal), [key], {
    facts: ["tocsin.job.", "tocsin.execution.created"],
    // A fire moves the next run of its job, which matters where that job is shown.
    wants: (fact) => fact.name !== "tocsin.execution.created" || seen.current.includes(fact.data.job_id),
    every: EVERY_MS,
  });
  const ids = jobs.data?.items.map(({ id }) => id) ?? [];
  seen.current = ids;
  const shown = ids.join();
  const outcomes = useResource(ids.length ? (signal) => outcomesOf(ids, signal) : null, [shown], {
    facts: ["tocsin.execution."],
    wants: (fact) => ids.includes(fact.data.job_id),
  });
  const selection = useSelection(JSON.stringify(conditionsOf(query)));
  useRowKeys();
  const reload = () => Promise.all([jobs.reload(), outcomes.reload()]);
  if (jobs.data) learnNames(jobs.data.items);
  return html`<${Page} title="Jobs" aside=${jobs.data && html`<span class="soft numeric">${jobs.data.total.toLocaleString("en")}</span>`} actions=${html`<${StripKey} />`}>
    <${Filters} query=${query} isCounted=${jobs.data !== null} />
    <${Card} flush class="jobs">
      ${outcomes.problem && html`<${Failure} problem=${outcomes.problem} title="The last outcomes did not come" onRetry=${outcomes.reload} />`}
      <${Awaited} of=${jobs} lines=${10}>${(page) => html`<${Listed} page=${page} offset=${filter.offset} what="jobs" none=${html`<${Nothing} query=${query} />`}>
        <${Table} isStale=${jobs.isStale} label="Jobs" rows=${page.items} rowKey=${({ id }) => id} rowLabel=${({ name }) => name} columns=${columns(outcomes.data, reload)}
            sort=${sortOf(query)} onSort=${(by, order) => setQuery({ sort: by, order, offset: null })} selection=${selection} />
      </${Listed}>`}</${Awaited}>
    </${Card}>
    ${selection.amount > 0 && html`<${Bulk} selection=${selection} total=${jobs.data?.total ?? 0} onPage=${ids} conditions=${conditionsOf(query)} onDone=${reload} />`}
  </${Page}>`;
}

/** The last outcomes of each job by its id; the charts of a row are nothing to wait for. */
async function outcomesOf(ids, signal) {
  const { items } = await api.jobs.outcomes(ids, OUTCOMES, signal);
  return new Map(items.map(({ job_id, outcomes }) => [job_id, outcomes]));
}

function Nothing({ query }) {
  if (hasConditions(query)) {
    return html`<${Empty} icon="search" title="No job matches" text="A search looks for that very text in names; every filter must hold."><${Button} href="/jobs">Show all jobs</${Button}></${Empty}>`;
  }
  return html`<${Empty} icon="jobs" title="There are no jobs yet" text="Make the first one here, from code, or try the samples: tocsin serve --samples"><${Button} tone="primary" icon="plus" href="/jobs/new">New job</${Button}></${Empty}>`;
}

/** Which jobs are picked: some by id, or `isAll`: all that match. A change of the filter lets go of them. */
function useSelection(narrowing) {
  const [picked, setPicked] = useState({ ids: new Set(), isAll: false });
  const before = useRef(narrowing);
  useEffect(() => {
    if (before.current !== narrowing) setPicked({ ids: new Set(), isAll: false });
    before.current = narrowing;
  }, [narrowing]);
  return {
    ...picked,
    amount: picked.isAll ? Infinity : picked.ids.size,
    has: (id) => picked.isAll || picked.ids.has(id),
    toggle: (ids, isOn) => setPicked(({ ids: old }) => {
      const next = new Set(old);
      for (const id of ids) next[isOn ? "add" : "delete"](id);
      return { ids: next, isAll: false };
    }),
    all: () => setPicked(({ ids }) => ({ ids, isAll: true })),
    clear: () => setPicked({ ids: new Set(), isAll: false }),
  };
}

/** Go through the rows by keys: j and k move the focus from name to name, x picks. */
function useRowKeys() {
  const move = (step) => {
    const names = [...document.querySelectorAll(".jobs .job-name")];
    const at = names.indexOf(document.activeElement);
    names[Math.max(0, Math.min(names.length - 1, at === -1 ? 0 : at + step))]?.focus();
  };
  useKey("j", "Next job", () => move(1));
  useKey("k", "Previous job", () => move(-1));
  useKey("x", "Pick the job, or let go of it", () => document.activeElement.closest("tr")?.querySelector(".pick input")?.click());
}
