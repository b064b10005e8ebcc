// What can be done to an event handler, wherever it is shown.
import { api } from "../../lib/api.js";
import { navigate } from "../../lib/router.js";
import { confirmed } from "../../ui/dialog.js";
import { doing } from "../../ui/toast.js";
import { titleOf } from "../events/impact.js";

export async function toggle(handler, reload) {
  const { id, version, enabled } = handler;
  await doing(
    () => api.handlers.update(id, { enabled: !enabled }, version),
    enabled ? `${titleOf(handler)} is disabled: events pass it by` : `${titleOf(handler)} is asked about events again`,
    "Not changed",
  );
  await reload();
}

/** Delete one once that is confirmed, and go to `next` then if there is such a place. */
export async function remove(handler, { reload, next }) {
  const text = "It acts no more, what it holds is let go, and the job of its own is deleted with it. What came of it stays in the snapshots of its events.";
  if (!(await confirmed({ title: `Delete ${titleOf(handler)}?`, text, action: "Delete the handler" }))) return;
  const removed = await doing(async () => (await api.handlers.remove(handler.id, handler.version), true), `${titleOf(handler)} is deleted`, "Not deleted");
  if (removed && next) navigate(next);
  else await reload();
}
