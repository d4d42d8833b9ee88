// Reads from the API inside a component: the newest query wins, an older query's answer is dropped. While a query is
// repeated the old answer stays, so nothing flickers. It is repeated when a lost connection is back.

import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { hasSnapshot } from "./board.ts";
import { recoveries } from "./live.ts";

export interface Loaded<Answer> {
  readonly data: Answer | null;
  readonly error: Error | null;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/** Reads again when `key` changes; null reads nothing. */
export const useLoad = <Answer>(key: string | null, load: (signal: AbortSignal) => Promise<Answer>): Loaded<Answer> => {
  const [state, setState] = useState<{ data: Answer | null; error: Error | null; isLoading: boolean }>({
    data: null,
    error: null,
    isLoading: key !== null,
  });
  const [asked, setAsked] = useState(0);
  /** The recoveries when the last read began. */
  const seen = useRef(0);
  const latest = useRef(load);
  latest.current = load;
  // Before the page is painted, so that the answer is a frame sooner. `asked` only triggers a new read.
  useLayoutEffect(() => {
    if (key === null) return;
    const abort = new AbortController();
    seen.current = recoveries.peek();
    setState((before) => ({ ...before, isLoading: true }));
    latest.current(abort.signal).then(
      (data) => !abort.signal.aborted && setState({ data, error: null, isLoading: false }),
      (error) => !abort.signal.aborted && setState((before) => ({ data: before.data, error, isLoading: false })),
    );
    return () => abort.abort();
  }, [key, asked]);
  const reload = useCallback(() => setAsked((before) => before + 1), []);
  // Nothing told of what changed while the connection was away, and what was asked for then may never be answered.
  const recovered = recoveries.value;
  useEffect(() => {
    if (seen.current !== recovered) reload();
  }, [recovered]);
  return { ...state, reload };
};

/** Counts up while the page is visible, for what no message of the socket reports. */
export const useRounds = (everyMs: number, isWanted = true): number => {
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (!isWanted) return;
    const timer = setInterval(() => {
      if (!document.hidden) setRound((before) => before + 1);
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs, isWanted]);
  return round;
};

/** Longer than somebody who types rests between two letters. */
const TYPING_MS = 250;

/** Follows a value once it has stopped changing for a while. */
export const useSettled = <Value>(value: Value, delayMs = TYPING_MS): Value => {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), delayMs);
    return () => clearTimeout(timer);
  }, [value, delayMs]);
  return settled;
};

/**
 * Follows a value of the board, changing at most once in `everyMs`, for reads that depend on it. The first change is
 * followed at once. The first snapshot is none: what was read while it was under way knows nearly the same.
 */
export const useThrottled = <Value>(value: Value, everyMs: number): Value => {
  const [shown, setShown] = useState(value);
  const changedAt = useRef(0);
  const isKnown = hasSnapshot.value;
  const wasKnown = useRef(isKnown);
  useEffect(() => {
    const isSnapshot = !wasKnown.current;
    wasKnown.current = isKnown;
    if (Object.is(value, shown)) return;
    const wait = isSnapshot ? everyMs : Math.max(0, changedAt.current + everyMs - Date.now());
    const timer = setTimeout(() => {
      changedAt.current = Date.now();
      setShown(value);
    }, wait);
    return () => clearTimeout(timer);
  }, [value, everyMs, isKnown]);
  return shown;
};
