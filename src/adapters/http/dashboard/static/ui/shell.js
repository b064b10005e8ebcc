// What stands around every page: the way to the others, how the node is, and where the focus goes.
import { html, useEffect, useErrorBoundary, useRef, useState } from "../lib/html.js";
import { api, reachable } from "../lib/api.js";
import { WithHealth, useHealth } from "../lib/health.js";
import { bind, listed } from "../lib/keyboard.js";
import { connection } from "../lib/live.js";
import { clock, keys as ofKeys, nextTheme, theme } from "../lib/preferences.js";
import { useResource } from "../lib/resource.js";
import { navigate, usePlace } from "../lib/router.js";
import { createStore, useStore } from "../lib/store.js";
import { ROUTES, loaded, routeOf } from "../routes.js";
import { Button } from "./button.js";
import { Confirmation, Dialog } from "./dialog.js";
import { Check } from "./form.js";
import { Icon } from "./icons.js";
import { Empty, Failure, Loading } from "./states.js";
import { Mark, wordOf } from "./status.js";
import { Tip } from "./tip.js";
import { Toasts, said } from "./toast.js";

const help = createStore(false);
const NAVIGATION = ROUTES.filter(({ nav }) => nav);

export function Shell() {
  const { path, moved } = usePlace();
  const found = routeOf(path);
  useGlobalKeys();
  return html`<${WithHealth}>
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <${Sidebar} path=${path} />
    <main id="main" tabindex="-1"><${Unreachable} /><${PageOf} key=${path} found=${found} path=${path} moved=${moved} /></main>
    <${Help} /><${Confirmation} /><${Toasts} /><${Tip} />
  </${WithHealth}>`;
}

function skip(event) {
  event.preventDefault();
  (document.querySelector("main h1") ?? document.querySelector("main")).focus();
}

/** Load the module of a page and show it, then move the focus to its heading, which says where one is. */
function PageOf({ found, path, moved }) {
  const [state, setState] = useState({ page: found?.route.page ?? null, problem: null });
  const [error, again] = useErrorBoundary();
  const isMove = useRef(moved === "to" || moved === "back");
  useEffect(() => {
    if (!found || state.page) return undefined;
    let isGone = false;
    loaded(found).then(
      (page) => isGone || setState({ page, problem: null }),
      () => isGone || setState({ page: null, problem: { title: "This page did not load", detail: "The node may have been upgraded meanwhile. Load the page again." } }),
    );
    return () => {
      isGone = true;
    };
  }, [path]);
  useEffect(() => {
    if (!isMove.current || !state.page) return;
    isMove.current = false;
    scrollTo(0, 0);
    document.querySelector("h1")?.focus({ preventScroll: true });
  }, [state.page]);
  if (!found) return html`<div class="page"><h1 class="unseen" tabindex="-1">Not found</h1><${Empty} icon="search" title="There is no such page" text=${`Nothing is at ${path}.`}><${Button} href="/">What happens now</${Button}><${Button} href="/jobs">All jobs</${Button}</${Empty}></div>`;
  if (error) return html`<div class="page"><h1 class="unseen" tabindex="-1">This page cannot be shown</h1><${Failure} problem=${{ title: "This page cannot be shown", detail: error.message }} onRetry=${again} /></div>`;
  if (state.problem) return html`<${Failure} problem=${state.problem} onRetry=${() => location.reload()} />`;
  return state.page ? html`<${state.page} params=${found.params} />` : html`<div class="page"><${Loading} lines=${6} /></div>`;
}

function Sidebar({ path }) {
  return html`<header class="sidebar">
    <a class="brand" href="/"><span class="brand-mark"><${Icon} name="bell" size=${18} /></span>Tocsin</a>
    <nav class="nav" aria-label="Pages"><ul>${NAVIGATION.map(({ path: to, nav, icon, keys }) => {
      const isHere = to === "/" ? path === "/" : path === to || path.startsWith(`${to}/`);
      return html`<li><a href=${to} aria-current=${isHere && path !== "/jobs/new" ? "page" : undefined} title=${keys && `${nav} (${keys})`}><${Icon} name=${icon} /><span>${nav}</span></a></li>`;
    })}</ul></nav>
    <${Button} tone="primary" icon="plus" href="/jobs/new" class="button is-primary new-job">New job</${Button}>
    <div class="sidebar-foot"><${Node} /><${Tools} /></div>
  </header>`;
}

/** How the node is and whether what is shown is live. */
function Node() {
  const health = useHealth();
  const state = useStore(connection);
  // What was said before nobody answered any more says nothing of now.
  const status = health.problem ? "unknown" : health.data?.status;
  return html`<div class="node">
    ${status && html`<a class="node-line" href="/" title="Health of this node, with reasons"><${Mark} status=${status} />${status === "unknown" ? "health unknown" : wordOf(status)}</a>`}
    <span class="node-line soft"><i class=${`pulse is-${state}`}></i>${{ live: "live", polling: "asks every 5 s", connecting: "connecting" }[state]}</span>
    <${Version} />
  </div>`;
}

function Version() {
  const live = useResource((signal) => api.live(signal), []);
  return html`<a class="node-line soft" href="/docs" target="_blank" title="The HTTP interface of this node">${live.data ? `v${live.data.version}` : ""} · API</a>`;
}

function Tools() {
  const chosen = useStore(theme);
  const read = useStore(clock);
  return html`<div class="tools">
    <${Button} tone="quiet" size="small" icon=${{ system: "system", light: "sun", dark: "moon" }[chosen]} label=${`Theme: ${chosen}`} onClick=${changeTheme} />
    <${Button} tone="quiet" size="small" icon="clock" label=${read === "utc" ? "Times in UTC; show mine" : "Times on my clock; show UTC"} onClick=${changeClock}>${read === "utc" ? "UTC" : "Mine"}</${Button}>
    <${Button} tone="quiet" size="small" icon="help" label="Keys" onClick=${() => help.set(true)} />
  </div>`;
}

function Unreachable() {
  return useStore(reachable) === false && html`<div class="banner tone-failed" role="alert"><${Icon} name="warning" /><span>The node does not answer. What you see is how things stood; it is tried again by itself.</span></div>`;
}

function search() {
  const field = document.querySelector("input[type=search]");
  if (field) field.focus();
  else navigate("/jobs");
}

function changeTheme() {
  said(`Theme: ${nextTheme()}`);
}

function changeClock() {
  clock.set(clock.get() === "utc" ? "mine" : "utc");
}

function useGlobalKeys() {
  useEffect(() => {
    const bound = [
      ...ROUTES.filter(({ keys }) => keys).map(({ keys, path, title }) => bind(keys, title, () => navigate(path))),
      bind("/", "Search", search),
      bind("t", "Next theme", changeTheme),
      bind("z", "Times on my clock or in UTC", changeClock),
      bind("?", "These keys", () => help.set(true)),
    ];
    return () => bound.forEach((release) => release());
  }, []);
}

function Help() {
  const isOpen = useStore(help);
  const chosen = useStore(ofKeys);
  if (!isOpen) return null;
  return html`<${Dialog} title="Keys" onClose=${() => help.set(false)}>
    <dl class="keys">${listed().map(({ keys, does }) => html`<div><dt>${keys.split(" ").map((key) => html`<kbd>${key}</kbd>`)}</dt><dd>${does}</dd></div>`)}</dl>
    <p class="soft">Two keys are pressed one after the other. Escape closes what is open.</p>
    <${Check} label="Keys do this" checked=${chosen === "on"} onChange=${(isOn) => ofKeys.set(isOn ? "on" : "off")} hint="Switched off, no single key does anything, as speech input may want it; this browser keeps that." />
  </${Dialog}>`;
}
