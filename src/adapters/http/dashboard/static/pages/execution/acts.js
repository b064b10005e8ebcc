// What can be done to an execution, wherever it is shown.
import { api } from "../../lib/api.js";
import { confirmed } from "../../ui/dialog.js";
import { doing } from "../../ui/toast.js";

/** Cancel one once that is confirmed; `name` is that of its job. */
export async function cancelExecution(id, name, reload) {
  const text = "Its handler is asked to stop within two seconds. The execution ends as cancelled and is not retried.";
  if (!(await confirmed({ title: `Cancel this execution of ${name}?`, text, action: "Cancel execution", keep: "Let it run" }))) return;
  await doing(() => api.executions.cancel(id), { text: `Cancelled ${name}`, href: `/executions/${id}` }, "Not cancelled");
  await reload();
}
