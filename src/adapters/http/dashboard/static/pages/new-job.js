// A job that is to be: its schedule in words and times while it is typed, and what is wrong said where it is wrong.
import { html, useState } from "../lib/html.js";
import { api } from "../lib/api.js";
import { navigate } from "../lib/router.js";
import { Button } from "../ui/button.js";
import { Check } from "../ui/form.js";
import { Page } from "../ui/page.js";
import { said } from "../ui/toast.js";
import { documentOf, emptyDraft } from "./job-form/draft.js";
import { Editor } from "./job-form/editor.js";

export default function NewJob() {
  const [draft, setDraft] = useState(emptyDraft);
  const [isPaused, setPaused] = useState(false);
  const create = async () => {
    const job = await api.jobs.create({ ...documentOf(draft), enabled: !isPaused });
    said(isPaused ? `${job.name} is there, paused` : `${job.name} is there`);
    navigate(`/jobs/${job.id}`);
  };
  return html`<${Page} title="New job" above=${[{ label: "Jobs", href: "/jobs" }]}>
    <${Editor} draft=${draft} set=${(changes) => setDraft((before) => ({ ...before, ...changes }))} onSave=${create} what="Not made"
      buttons=${html`<${Check} label="Start it paused" checked=${isPaused} onChange=${setPaused} /><${Button} href="/jobs">Cancel</${Button}><${Button} tone="primary" type="submit">Make the job</${Button}>`} />
  </${Page}>`;
}
