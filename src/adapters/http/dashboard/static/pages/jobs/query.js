// What the address says of a list of jobs, as the node is asked it.
export const PAGE_SIZE = 50;

/** The conditions alone, as a bulk change takes them. */
export function conditionsOf(query) {
  const conditions = {
    name_contains: query.get("q"),
    status: query.getAll("status"),
    type: query.getAll("type"),
    tags_all: query.getAll("tag"),
    handler_name: query.getAll("handler"),
  };
  return Object.fromEntries(Object.entries(conditions).filter(([, value]) => value && value.length > 0));
}

export const hasConditions = (query) => Object.keys(conditionsOf(query)).length > 0;

export function sortOf(query) {
  const by = query.get("sort") ?? "created_at";
  return { by, order: query.get("order") ?? (by === "created_at" ? "desc" : "asc") };
}

export function filterOf(query) {
  const { by, order } = sortOf(query);
  return { ...conditionsOf(query), sort_by: by, sort_order: order, limit: PAGE_SIZE, offset: Number(query.get("offset") ?? 0) };
}
