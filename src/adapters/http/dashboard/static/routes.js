// Every page: where it is, how it is called, and the module that it is loaded from when first opened.
import { matched } from "./lib/router.js";

/**
 * `path` may have parameters (`/jobs/:id`); the first that matches wins. `nav` is its word in the navigation, `keys`
 * lead to it from anywhere, `title` says in the help what they do. The node serves these paths: PAGES in
 * adapters/http/dashboard/documents.py; what is in the navigation stands in index.html too.
 */
export const ROUTES = [
  { path: "/", nav: "Now", icon: "now", keys: "g n", title: "Go to what happens now", load: () => import("./pages/now.js") },
  { path: "/jobs", nav: "Jobs", icon: "jobs", keys: "g j", title: "Go to the jobs", load: () => import("./pages/jobs.js") },
  { path: "/jobs/new", keys: "n", title: "New job", load: () => import("./pages/new-job.js") },
  { path: "/jobs/:id", load: () => import("./pages/job.js") },
  { path: "/executions", nav: "Executions", icon: "executions", keys: "g x", title: "Go to the executions", load: () => import("./pages/executions.js") },
  { path: "/executions/:id", load: () => import("./pages/execution.js") },
  { path: "/events", nav: "Events", icon: "events", keys: "g e", title: "Go to the events", load: () => import("./pages/events.js") },
  { path: "/events/:id", load: () => import("./pages/event.js") },
  { path: "/event-handlers", nav: "Handlers", icon: "handlers", keys: "g h", title: "Go to the event handlers", load: () => import("./pages/event-handlers.js") },
  { path: "/event-handlers/new", load: () => import("./pages/new-event-handler.js") },
  { path: "/event-handlers/:id", load: () => import("./pages/event-handler.js") },
];

/** The page at a path with its parameters, or null. */
export function routeOf(path) {
  for (const route of ROUTES) {
    const params = matched(route.path, path);
    if (params) return { route, params };
  }
  return null;
}

/** Load the module of a page that `routeOf` found, once; promises its component, or null where there is no page. */
export async function loaded(found) {
  if (!found) return null;
  found.route.page ??= (await found.route.load()).default;
  return found.route.page;
}
