// What can be done to a job, wherever it is shown.
import { api } from "../../lib/api.js";
import { confirmed } from "../../ui/dialog.js";
import { doing } from "../../ui/toast.js";

/** Cancel one for good once that is confirmed. */
export async function cancelJob({ id, name }, reload) {
  const text = "It fires no more, and what of it is pending or running is cancelled. This cannot be taken back; its executions stay to be read.";
  if (!(await confirmed({ title: `Cancel ${name} for good?`, text, action: "Cancel the job" }))) return;
  await doing(() => api.jobs.cancel(id), `${name} is cancelled`, "Not cancelled");
  await reload();
}
