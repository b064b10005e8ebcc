// What an execution logged, and logs: lines come over a stream until it ends.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../../lib/html.js";
import { BASE } from "../../lib/api.js";
import { count, plural } from "../../lib/format.js";
import { setQuery, usePlace } from "../../lib/router.js";
import { timeOfDay } from "../../lib/time.js";
import { clock } from "../../lib/preferences.js";
import { useStore } from "../../lib/store.js";
import { Button } from "../../ui/button.js";
import { Card } from "../../ui/page.js";
import { Empty, Failure, Loading } from "../../ui/states.js";

const SHOWN = 2000;
const NEAR_PX = 24;
const TONES = { error: "failed", critical: "failed", warning: "timeout", debug: "quiet" };

export function Logs({ execution, isOver, attempts }) {
  const { lines, dropped, state, again } = useLines(execution);
  const text = usePlace().query.get("find") ?? "";
  const shown = useMemo(() => lines.filter((line) => contains(line, text.trim().toLowerCase())), [lines, text]);
  return html`<${Card} title="Log" flush aside=${html`
    <span class="numeric">${plural(lines.length + dropped, "line")}</span>
    <span class=${`log-state ${state === "live" && !isOver ? "is-live" : ""}`}>${state === "live" && !isOver ? "live" : state === "ended" ? "complete" : ""}</span>
    <input class="input is-fit log-find" type="search" aria-label="Find in the log" placeholder="Find" value=${text} onInput=${(event) => setQuery({ find: event.currentTarget.value })} />`}>
    ${state === "lost" && html`<${Failure} problem=${{ title: "The log does not come", detail: "The stream was refused. What is here already stays." }} onRetry=${again} />`}
    ${lines.length === 0 ? html`<${None} state=${state} />` : html`
      ${dropped > 0 && html`<p class="log-dropped soft">${count(dropped)} earlier lines are not shown; <code>tocsin executions logs ${execution}</code> has them all.</p>`}
      <${Lines} lines=${shown} isMarked=${attempts > 1} />
      ${shown.length === 0 && html`<${Empty} isSlim icon="search" title="No line has that text" />`}`}
  </${Card}>`;
}

function None({ state }) {
  if (state === "connecting") return html`<${Loading} label="Loading the log" />`;
  return html`<${Empty} isSlim icon="executions" title=${state === "ended" ? "It logged nothing" : "Nothing is logged yet"} text=${state === "ended" ? "What a handler logs through context.logger shows here." : "Lines show here as they come."} />`;
}

/** The lines, kept at their end as long as a person does not scroll away from it. */
function Lines({ lines, isMarked }) {
  useStore(clock);
  const box = useRef(null);
  const [isFollowing, setFollowing] = useState(true);
  const toEnd = () => {
    box.current.scrollTop = box.current.scrollHeight;
  };
  useLayoutEffect(() => {
    if (isFollowing) toEnd();
  }, [lines]);
  const scrolled = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current;
    setFollowing(scrollHeight - scrollTop - clientHeight < NEAR_PX);
  };
  return html`<div class="log-box"><div ref=${box} class="log" role="log" tabindex="0" aria-label="Lines of the log" onScroll=${scrolled}>
      ${lines.map((line) => html`<${Line} key=${line.number} line=${line} isMarked=${isMarked} />`)}</div>
    ${!isFollowing && html`<span class="log-end"><${Button} size="small" icon="down" onClick=${() => { setFollowing(true); toEnd(); }}>To the end</${Button}></span>`}
  </div>`;
}

function Line({ line: { logged_at, level, message, fields, attempt }, isMarked }) {
  return html`<div class="log-line"><time datetime=${logged_at}>${timeOfDay(logged_at, { seconds: true })}</time>
    ${isMarked && html`<span class="log-attempt" title=${`Attempt ${attempt}`}>#${attempt}</span>`}
    <span class=${`log-level tone-${TONES[level] ?? "running"}`}>${level}</span>
    <span class="log-text">${message}${Object.entries(fields ?? {}).map(([name, value]) => html` <span class="log-field"><span class="soft">${name}=</span>${written(value)}</span>`)}</span></div>`;
}

const written = (value) => (typeof value === "string" ? value : JSON.stringify(value));

function contains({ message, level, fields }, text) {
  return !text || `${level} ${message} ${JSON.stringify(fields ?? {})}`.toLowerCase().includes(text);
}

/** Follow the log while somebody looks; `state` is connecting, live, ended or lost. */
function useLines(execution) {
  const [held, setHeld] = useState({ lines: [], dropped: 0 });
  const [state, setState] = useState("connecting");
  const [turn, setTurn] = useState(0);
  const position = useRef(0);
  useEffect(() => {
    let source = null;
    let isEnded = false;
    let coming = [];
    let frame = 0;
    // Lines come faster than they can be drawn one by one.
    const draw = () => {
      const next = coming;
      coming = [];
      frame = 0;
      setHeld(({ lines, dropped }) => {
        const all = [...lines, ...next];
        const over = Math.max(0, all.length - SHOWN);
        return { lines: all.slice(over), dropped: dropped + over };
      });
    };
    const received = (message) => {
      position.current = Number(message.lastEventId);
      coming.push({ number: position.current, ...JSON.parse(message.data) });
      frame ||= requestAnimationFrame(draw);
    };
    const open = () => {
      if (source || isEnded || document.hidden) return;
      source = new EventSource(`${BASE}/executions/${encodeURIComponent(execution)}/logs?follow=true&after=${position.current}`);
      source.onopen = () => setState("live");
      source.onerror = () => source?.readyState === EventSource.CLOSED && setState("lost");
      source.addEventListener("line", received);
      source.addEventListener("end", () => {
        isEnded = true;
        close();
        setState("ended");
      });
    };
    const close = () => {
      source?.close();
      source = null;
    };
    const looked = () => (document.hidden ? close() : open());
    document.addEventListener("visibilitychange", looked);
    open();
    return () => {
      document.removeEventListener("visibilitychange", looked);
      cancelAnimationFrame(frame);
      close();
    };
  }, [execution, turn]);
  return { ...held, state, again: () => { setState("connecting"); setTurn(turn + 1); } };
}
