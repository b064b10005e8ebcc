// Something asked of the node, kept while it is asked for again, and asked for again when facts say that it changed.
import { useCallback, useEffect, useRef, useState } from "./html.js";
import { useFacts } from "./live.js";

// The least time between two looks; a look that takes long spaces the next ones out.
const LEAST_MS = 1500;
const SHARE = 4;

/**
 * Give `{data, problem, isLoading, isStale, reload}` of what `load(signal)` promises.
 *
 * It is loaded when one of `inputs` changes, when a fact comes that begins with one of `facts` (and that `wants` is
 * true of), and every `every` ms. Until the first answer `data` is null; afterwards it is the newest answer, also
 * while another is awaited and when that fails; `isStale` says that it answers other inputs than these. `load` may be
 * null: then nothing is asked.
 */
export function useResource(load, inputs, { facts = [], wants = () => true, every = 0 } = {}) {
  const key = JSON.stringify(inputs);
  const [state, setState] = useState({ data: null, problem: null, isLoading: load !== null, of: key });
  const wanted = useRef(key);
  wanted.current = key;
  const latest = useRef(load);
  const asking = useRef(null);
  const pace = useRef({ timer: null, ended: 0, took: 0, isMissed: false });
  latest.current = load;

  const reload = useCallback(async () => {
    asking.current?.abort();
    clearTimeout(pace.current.timer);
    pace.current.timer = null;
    if (latest.current === null) return;
    const mine = new AbortController();
    asking.current = mine;
    pace.current.isMissed = false;
    const of = wanted.current;
    const begun = performance.now();
    setState((before) => ({ ...before, isLoading: true }));
    try {
      const data = await latest.current(mine.signal);
      if (!mine.signal.aborted) setState({ data, problem: null, isLoading: false, of });
    } catch (problem) {
      if (!mine.signal.aborted) setState((before) => ({ ...before, problem, isLoading: false }));
    }
    if (asking.current !== mine) return;
    asking.current = null;
    const ended = performance.now();
    Object.assign(pace.current, { ended, took: ended - begun });
    if (pace.current.isMissed) soon();
  }, []);

  const soon = useCallback(() => {
    const { timer, ended, took } = pace.current;
    // What is being answered may be from before the fact: it is looked at again.
    if (asking.current !== null) pace.current.isMissed = true;
    if (timer !== null || asking.current !== null) return;
    const wait = Math.max(LEAST_MS, took * SHARE) - (performance.now() - ended);
    pace.current.timer = setTimeout(reload, Math.max(0, wait));
  }, []);

  useEffect(() => {
    reload();
    return () => {
      asking.current?.abort();
      asking.current = null;
      clearTimeout(pace.current.timer);
      pace.current.timer = null;
    };
  }, inputs);
  useEffect(() => {
    if (!every) return undefined;
    const beat = setInterval(() => document.hidden || soon(), every);
    return () => clearInterval(beat);
  }, [every]);
  useFacts(facts, (fact) => {
    if (facts.length && (fact === null || wants(fact))) soon();
  });
  const { of, ...told } = state;
  return { ...told, isStale: told.data !== null && of !== key, reload };
}
