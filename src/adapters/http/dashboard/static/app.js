// The dashboard of Tocsin: ES modules as they lie here, no build step.
//
//   routes.js   every page with its path; lib/ what pages are made with, ui/ what they are made of, styles/ how it looks
//   pages/      one module per page, loaded when it is first opened
//
// To add a page: write pages/NAME.js whose default export is a component that takes `{params}` and renders <Page>;
// add a line to ROUTES in routes.js, and its path with its module to PAGES in adapters/http/dashboard/documents.py, so
// that it survives a reload. Ask the node through lib/api.js and useResource (lib/resource.js), which keeps it live; keep
// what narrows the page in the query (usePlace, setQuery of lib/router.js); show answers within <Awaited>, and have actions
// go through `doing` (ui/toast.js), which says how they went.
import { html, render } from "./lib/html.js";
import { startKeyboard } from "./lib/keyboard.js";
import { startLive } from "./lib/live.js";
import { startRouter } from "./lib/router.js";
import { loaded, routeOf } from "./routes.js";
import { keepFocus } from "./ui/focus.js";
import { Shell } from "./ui/shell.js";

// The document shows the way to all pages until the one that is wanted is there; should it not come, the shell says so.
await loaded(routeOf(location.pathname)).catch(() => null);
startRouter((path) => routeOf(path) !== null);
startKeyboard();
startLive();
const app = document.getElementById("app");
app.replaceChildren();
keepFocus(app);
render(html`<${Shell} />`, app);
