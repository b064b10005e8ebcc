// A job being changed: what is typed beside what it was, and only what differs is sent.
import { html, useRef, useState } from "../../lib/html.js";
import { api } from "../../lib/api.js";
import { setQuery } from "../../lib/router.js";
import { Button } from "../../ui/button.js";
import { Page } from "../../ui/page.js";
import { Failure } from "../../ui/states.js";
import { said } from "../../ui/toast.js";
import { changesOf, documentOf, draftOf } from "../job-form/draft.js";
import { Editor } from "../job-form/editor.js";

export function Edit({ job, onDone }) {
  // What the form began with; facts may bring newer versions while a person types.
  const begun = useRef(job);
  const [draft, setDraft] = useState(() => draftOf(job));
  const [turn, setTurn] = useState(0);
  const isSame = asShown(job) === asShown(begun.current);
  // What else changed, such as that it is paused, takes nothing away from what is typed.
  if (isSame && job.version > begun.current.version) begun.current = job;
  const { id, name, version } = begun.current;
  const before = begun.current.schedule ? { schedule: begun.current.schedule, timezone: begun.current.timezone, job: begun.current.next_run && id } : null;
  const leave = () => setQuery({ edit: null });
  const save = async () => {
    const changes = changesOf(documentOf(draftOf(begun.current)), documentOf(draft));
    if (Object.keys(changes).length > 0) {
      const changed = await api.jobs.update(id, changes, version);
      begun.current = changed;
      said(`${changed.name} is changed`);
      await onDone();
    }
    leave();
  };
  const renew = () => {
    begun.current = job;
    setDraft(draftOf(job));
    setTurn(turn + 1);
  };
  const isOutdated = job.version > version;
  return html`<${Page} title=${`Edit ${name}`} above=${[{ label: "Jobs", href: "/jobs" }, { label: name, href: `/jobs/${id}` }]}>
    ${isOutdated && html`<${Failure} problem=${{ title: "Somebody changed this job meanwhile", detail: "Load it again to see how it is now; what you typed is lost then." }} onRetry=${renew} />`}
    <${Editor} key=${turn} draft=${draft} set=${(changes) => setDraft((old) => ({ ...old, ...changes }))} before=${before} onSave=${save} what="Not changed"
      buttons=${html`<${Button} onClick=${leave}>Leave it as it was</${Button}><${Button} tone="primary" type="submit">Save changes</${Button}>`} />
  </${Page}>`;
}

/** What the form shows of a job. */
const asShown = (job) => JSON.stringify({ ...draftOf(job), at: job.schedule });
