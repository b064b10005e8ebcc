// Where a person is: the path says which page, the query how it is narrowed, and both survive a reload.
import { createStore, useStore } from "./store.js";

const here = () => ({ path: location.pathname, search: location.search, moved: "load" });
const place = createStore(here());

/** Listen to the browser's own buttons, and turn clicks on links of this dashboard into moves without a reload. */
export function startRouter(isPage) {
  addEventListener("popstate", () => place.set({ ...here(), moved: "back" }));
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
    if (!link || !isPlain || event.defaultPrevented || link.target || link.hasAttribute("download")) return;
    const target = new URL(link.href);
    if (target.origin !== location.origin || !isPage(target.pathname) || target.hash) return;
    event.preventDefault();
    navigate(target.pathname + target.search);
  });
}

/** Go to an address of this dashboard; with `replace` the one before is not kept in the history. */
export function navigate(address, { replace = false } = {}) {
  const target = new URL(address, location.href);
  const isSamePage = target.pathname === location.pathname;
  history[replace ? "replaceState" : "pushState"](null, "", target.pathname + target.search);
  place.set({ ...here(), moved: isSamePage ? "within" : "to" });
}

/**
 * Change some of the query and keep the rest: null and "" and [] take a name out, an array repeats it.
 * What narrows a list replaces the address, so that a press on Back leaves the page and not one letter of a search.
 */
export function setQuery(changes, { replace = true } = {}) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    query.delete(name);
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== null && each !== undefined && each !== "") query.append(name, each);
    }
  }
  const text = query.toString();
  navigate(location.pathname + (text && `?${text}`), { replace });
}

/** Give `{path, query, moved}`; `query` is a URLSearchParams, `moved` how one got here: load, to, within, back. */
export function usePlace() {
  const { path, search, moved } = useStore(place);
  return { path, query: new URLSearchParams(search), moved };
}

/** Match a path against a pattern such as `/jobs/:id`; give its parameters, or null. */
export function matched(pattern, path) {
  const wanted = pattern.split("/");
  const given = path.split("/");
  if (wanted.length !== given.length) return null;
  const params = {};
  for (const [index, part] of wanted.entries()) {
    if (part.startsWith(":")) params[part.slice(1)] = decoded(given[index]);
    else if (part !== given[index]) return null;
  }
  return params;
}

/** What a part of a path says; one that is cut off says what is written there. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
