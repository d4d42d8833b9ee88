// Races work against an abort. A runtime's fetch checks its signal while it waits for headers, but not always while a
// body streams. Always listen on the original signal, never on request.signal: Node refers to that one weakly, so a
// wait that depends on it alone may be garbage collected and never end.

type Deadline = { signal: AbortSignal; clear: () => void };

/** AbortSignal.timeout that can be cleared: it then keeps nothing alive. */
export const deadline = (ms: number): Deadline => {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), ms);
  return { signal: controller.signal, clear: () => clearTimeout(timer) };
};

type Abort = { promise: Promise<"aborted">; forget: () => void };

export const whenAborted = (signal: AbortSignal): Abort => {
  let forget = () => {};
  const promise = new Promise<"aborted">((resolve) => {
    const stop = () => resolve("aborted");
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    forget = () => signal.removeEventListener("abort", stop);
  });
  return { promise, forget };
};

/** The work's result, or "aborted" once the signal fires; a later result is passed to `discard`. */
export const orAborted = async <T>(
  work: Promise<T>,
  signal: AbortSignal,
  discard: (late: T) => void,
): Promise<T | "aborted"> => {
  const abort = whenAborted(signal);
  try {
    const result = await Promise.race([work, abort.promise]);
    if (result === "aborted") work.then(discard, () => {});
    return result;
  } finally {
    abort.forget();
  }
};

/** Cancels an unread body, so that its connection is free again. */
export const discardBody = (response: Response): void => {
  response.body?.cancel().catch(() => {});
};
