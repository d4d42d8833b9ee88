// An abort as a value to race against: a runtime's fetch heeds its signal while it waits for headers, not always while a
// body streams, and a test's fetch need not at all. Always listen on the signal that was made, never on request.signal:
// Node keeps that one by weak references, and a wait that hangs on it alone may be collected and never end.

export type Deadline = { signal: AbortSignal; clear: () => void };

/** AbortSignal.timeout with an end: cleared, it holds on to nothing for the rest of its time. */
export function deadline(ms: number): Deadline {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), ms);
  return { signal: controller.signal, clear: () => clearTimeout(timer) };
}

export type Abort = { promise: Promise<"aborted">; forget: () => void };

export function whenAborted(signal: AbortSignal): Abort {
  let forget = () => {};
  const promise = new Promise<"aborted">((resolve) => {
    const stop = () => resolve("aborted");
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    forget = () => signal.removeEventListener("abort", stop);
  });
  return { promise, forget };
}

/** What the work comes to, or "aborted" once the signal fires; a result that comes later is handed to `discard`. */
export async function orAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
  discard: (late: T) => void,
): Promise<T | "aborted"> {
  const abort = whenAborted(signal);
  try {
    const result = await Promise.race([work, abort.promise]);
    if (result === "aborted") work.then(discard, () => {});
    return result;
  } finally {
    abort.forget();
  }
}

/** A body that nobody reads is given up, so that its connection is free again. */
export function discardBody(response: Response): void {
  response.body?.cancel().catch(() => {});
}
