// Reading from the API inside a component: the newest question wins, an answer to an older one is dropped. While a
// question is asked again the old answer stays, so that nothing flickers.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiProblem } from "../../contract/client/problem.ts";
import { recoveries } from "./live.ts";

export interface Loaded<Answer> {
  readonly data: Answer | null;
  readonly error: Error | null;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/** Asks again whenever `key` changes; `key` null asks nothing. */
export const useLoad = <Answer>(key: string | null, load: (signal: AbortSignal) => Promise<Answer>): Loaded<Answer> => {
  const [state, setState] = useState<{ data: Answer | null; error: Error | null; isLoading: boolean }>({
    data: null,
    error: null,
    isLoading: key !== null,
  });
  const [asked, setAsked] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  // `asked` only asks again.
  useEffect(() => {
    if (key === null) return;
    const abort = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    latest.current(abort.signal).then(
      (data) => !abort.signal.aborted && setState({ data, error: null, isLoading: false }),
      (error) => !abort.signal.aborted && setState((before) => ({ data: before.data, error, isLoading: false })),
    );
    return () => abort.abort();
  }, [key, asked]);
  const reload = useCallback(() => setAsked((before) => before + 1), []);
  const isUnanswered = state.error !== null && !(state.error instanceof ApiProblem && state.error.status < 500);
  // What failed while the coordinator was out of reach is asked again once it is back.
  const recovered = recoveries.value;
  const seen = useRef(recovered);
  useEffect(() => {
    if (seen.current === recovered) return;
    seen.current = recovered;
    if (isUnanswered) reload();
  }, [recovered, isUnanswered]);
  return { ...state, reload };
};

/** A value that follows another, but only once it has stood still for a while. */
export const useSettled = <Value>(value: Value, delayMs: number): Value => {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), delayMs);
    return () => clearTimeout(timer);
  }, [value, delayMs]);
  return settled;
};

/** A value that follows another, but changes at most once in `everyMs`: for what asks the server when it changes. */
export const useThrottled = <Value>(value: Value, everyMs: number): Value => {
  const [shown, setShown] = useState(value);
  const changedAt = useRef(0);
  useEffect(() => {
    const wait = Math.max(0, changedAt.current + everyMs - Date.now());
    const timer = setTimeout(() => {
      changedAt.current = Date.now();
      setShown(value);
    }, wait);
    return () => clearTimeout(timer);
  }, [value, everyMs]);
  return shown;
};
