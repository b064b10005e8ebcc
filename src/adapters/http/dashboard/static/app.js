// The dashboard of Tocsin: ES modules as they lie here, no build step.
//
//   routes.js   every page with its path; lib/ what pages are made with, ui/ what they are made of, styles/ how it looks
//   pages/      one module per page, loaded when it is first opened
//
// To add a page: write pages/NAME.js whose default export is a component that takes `{params}` and renders <Page>;
// add a line to ROUTES in routes.js, and its path to PAGES in adapters/http/dashboard/__init__.py, so that it survives
// a reload. Ask the node through lib/api.js and useResource (lib/resource.js), which keeps it live; keep what narrows
// the page in the query (usePlace, setQuery of lib/router.js); show answers within <Awaited>, and have actions go
// through `doing` (ui/toast.js), which says how they went.
import { html, render } from "./lib/html.js";
import { startKeyboard } from "./lib/keyboard.js";
import { startLive } from "./lib/live.js";
import { startRouter } from "./lib/router.js";
import { routeOf } from "./routes.js";
import { Shell } from "./ui/shell.js";

startRouter((path) => routeOf(path) !== null);
startKeyboard();
startLive();
render(html`<${Shell} />`, document.getElementById("app"));
