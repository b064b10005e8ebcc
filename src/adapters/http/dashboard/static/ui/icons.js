// Line icons on a grid of 16. They are drawn in the colour of the text beside them, and never stand without words.
import { html } from "../lib/html.js";

const PATHS = {
  bell: "M8 1.8v1M3.6 11.4V7.2a4.4 4.4 0 0 1 8.8 0v4.2l1.1 1.3H2.5zM6.5 14.2h3",
  now: "M1.5 8.5h3l2-5 3 9 2-4h3",
  jobs: "M2.5 4h1M6 4h7.5M2.5 8h1M6 8h7.5M2.5 12h1M6 12h7.5",
  executions: "M5 3.2v9.6L12.5 8z",
  events: "M9 1.5 3.5 9H8l-1 5.5L12.5 7H8z",
  handlers: "M3.5 3.5v5a2 2 0 0 0 2 2h7M9.5 7.5l3 3-3 3",
  plus: "M8 3v10M3 8h10",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.3 10.3l3.2 3.2",
  close: "M4 4l8 8M12 4l-8 8",
  check: "M3 8.5l3.2 3.2L13 5",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  play: "M5 3.2v9.6L12.5 8z",
  resume: "M3.5 3.5v9M6.5 3.2v9.6L13.5 8z",
  cancel: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM4.2 4.2l7.6 7.6",
  retry: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5v3h-3",
  edit: "M3 13l.7-2.8 7-7a1.5 1.5 0 0 1 2.1 2.1l-7 7zM9.5 4.5l2 2",
  trash: "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.6 9h5.8l.6-9",
  up: "M8 12.5v-9M4 7l4-4 4 4",
  down: "M8 3.5v9M4 9l4 4 4-4",
  left: "M10 3.5L5.5 8l4.5 4.5",
  right: "M6 3.5L10.5 8 6 12.5",
  first: "M12 3.5L7.5 8l4.5 4.5M4.5 3.5v9",
  last: "M4 3.5L8.5 8 4 12.5M11.5 3.5v9",
  clock: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5v3.2l2 1.3",
  node: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01",
  sun: "M8 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5zM8 1.5v1.2M8 13.3v1.2M1.5 8h1.2M13.3 8h1.2M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z",
  system: "M2 3h12v8H2zM5.5 13.5h5M8 11v2.5",
  help: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM6.3 6.3a1.7 1.7 0 1 1 2.5 1.5c-.5.3-.8.6-.8 1.2M8 11.3h.01",
  out: "M9.5 2.5h4v4M13.5 2.5L8 8M11.5 9v4.5h-9v-9H7",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  warning: "M8 2.2l6 11H2zM8 6.5v3M8 11.5h.01",
  calendar: "M2.5 4h11v9.5h-11zM2.5 7h11M5.5 2.5v3M10.5 2.5v3",
  filter: "M2.5 3.5h11L9.5 8.5v4l-3 1v-5z",
};

export function Icon({ name, size = 16 }) {
  return html`<svg class="icon" width=${size} height=${size} viewBox="0 0 16 16" aria-hidden="true" focusable="false"><path d=${PATHS[name]} /></svg>`;
}
