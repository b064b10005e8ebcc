// Actions as the form holds them, and as the node takes them.

/** How each begins. */
export const EMPTY = {
  call: { type: "call", handler_name: "", handler_type: "function", payload: null },
  run_job: { type: "run_job", job_id: "", payload: null },
  create_job: { type: "create_job", job: { name: "", handler_name: "" }, delay: "", on_conflict: "keep" },
  cancel_jobs: { type: "cancel_jobs", key: "", tags: [] },
  publish: { type: "publish", name: "", data: null },
};

export const TYPES = [
  ["call", "Call a handler"],
  ["run_job", "Run a job"],
  ["create_job", "Make a job for later"],
  ["cancel_jobs", "Cancel jobs"],
  ["publish", "Publish another event"],
];

/** Leave out what is empty, and what only the node says. */
export function cleaned(action) {
  const told = filled(action);
  if (told.type === "call") delete told.job_id;
  if (told.delay !== undefined) delete told.delay_seconds;
  if (told.job) told.job = filled(told.job);
  return told;
}

const filled = (given) => Object.fromEntries(Object.entries(given).filter(([, value]) => value !== "" && value !== null && value !== undefined));

/** Seconds as the delay field has them: 48h, 90s. */
export function delayOf({ delay, delay_seconds: seconds }) {
  if (delay !== undefined) return delay;
  if (!seconds) return "";
  const [size, unit] = [[3600, "h"], [60, "m"], [1, "s"]].find(([each]) => seconds % each === 0);
  return `${seconds / size}${unit}`;
}
