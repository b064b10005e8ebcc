// What a pattern and a filter make of a sample, as one types; nothing is published.
import { html, useEffect, useState } from "../../lib/html.js";
import { api } from "../../lib/api.js";
import { useResource } from "../../lib/resource.js";
import { absolute } from "../../lib/time.js";
import { Select, TextArea, TextField } from "../../ui/form.js";
import { Icon } from "../../ui/icons.js";
import { Card } from "../../ui/page.js";
import { faultOfJson, readJson, writeJson } from "../events/json.js";

const PAUSE_MS = 250;
const RECENT = 30;
const NAME = /^[A-Za-z0-9_\-/@+~]+(?:[.:][A-Za-z0-9_\-/@+~]+)*$/;
const LOOKS = { success: "check", quiet: "filter", failed: "warning" };

export function Tester({ event, filter, sample }) {
  const [own, setOwn] = useState(sample && sampleOf(sample));
  const [data, setData] = useState(sample ? writeJson(sample.data) : writeJson({ id: 7, total: 150 }));
  const recent = useResource((signal) => api.events.list({ limit: RECENT }, signal), []);
  const told = own ?? { name: exampleOf(event) };
  const verdict = useVerdict({ event, filter, told, data });
  const take = (id) => {
    const found = recent.data.items.find((each) => each.id === id);
    if (!found) return;
    setOwn(sampleOf(found));
    setData(writeJson(found.data));
  };
  const options = [["", "One of the newest"], ...(recent.data?.items ?? []).map(({ id, name, received_at: at }) => [id, `${name}, ${absolute(at)}`])];
  return html`<${Card} title="Try it on a sample" class="tester">
    <div class=${`verdict ground-${verdict.tone}`} role="status"><${Icon} name=${LOOKS[verdict.tone]} /><div><p class=${`verdict-title tone-${verdict.tone}`}>${verdict.title}</p>${verdict.text && html`<p>${verdict.text}</p>`}</div></div>
    <div class="fields">
      <${Select} label="Take an event" isWide value="" options=${options} onChange=${take} />
      <${TextField} label="Name of the sample" isWide mono value=${told.name} onInput=${(name) => setOwn({ ...told, name })} autocomplete="off" spellcheck="false" />
      <${TextArea} label="Data of the sample" mono rows=${8} value=${data} onInput=${setData} error=${faultOfJson(data)} />
    </div>
  </${Card}>`;
}

/** What came of the newest trial: `{tone, title, text}`. */
function useVerdict({ event, filter, told, data }) {
  const [verdict, setVerdict] = useState({ tone: "quiet", title: "Type a pattern to see what it makes of the sample" });
  const sample = JSON.stringify(told);
  useEffect(() => {
    const stopped = new AbortController();
    const timer = setTimeout(async () => {
      const amiss = amissBefore({ event, told, data });
      if (amiss) {
        setVerdict(amiss);
        return;
      }
      try {
        const body = { event, filter: filter || null, sample: { ...told, data: readJson(data) } };
        setVerdict(worded(await api.handlers.test(body, stopped.signal), { event, filter, told }));
      } catch (problem) {
        if (!stopped.signal.aborted) setVerdict({ tone: "failed", title: "It cannot be tried", text: problem.errors?.[0]?.message ?? problem.detail ?? problem.message });
      }
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      stopped.abort();
    };
  }, [event, filter, sample, data]);
  return verdict;
}

function amissBefore({ event, told, data }) {
  if (!event) return { tone: "quiet", title: "Type a pattern to see what it makes of the sample" };
  if (!NAME.test(told.name)) return { tone: "failed", title: "The sample has no name", text: "Segments of letters, digits and _-/@+~, split at . and :" };
  if (faultOfJson(data)) return { tone: "failed", title: "The sample's data is no JSON yet" };
  return null;
}

function worded({ matches, name_matches: isNamed, result, error }, { event, filter, told }) {
  if (error !== null) return { tone: "failed", title: "It would be refused", text: html`${error}${result !== null && html`: it comes to <code>${JSON.stringify(result)}</code>`}` };
  if (!isNamed) return { tone: "quiet", title: "It would not be asked", text: html`<code>${event}</code> does not match <code>${told.name}</code>.` };
  if (matches) return { tone: "success", title: "It would act", text: filter ? "The name matches, and the filter comes to true." : "The name matches, and there is no filter." };
  return { tone: "quiet", title: "It would leave this alone", text: "The name matches, and the filter comes to false." };
}

const sampleOf = ({ name, subject, source }) => ({ name, ...(subject ? { subject } : {}), ...(source ? { source } : {}) });

/** A name that a pattern matches. */
const exampleOf = (pattern) => (pattern || "order.created").replace(/\*+/g, "created");
