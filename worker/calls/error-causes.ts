// Why a request failed: Node keeps the reason in the chain of an error's causes.

const MAX_CAUSES = 8;

const NOT_CONNECTED = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "EHOSTDOWN",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** No connection was established: the other side has received nothing of the request. */
export const isNeverReached = (error: unknown): boolean =>
  causesOf(error).some(({ code }) => code !== undefined && NOT_CONNECTED.has(code));

const BROKEN_OFF = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

/** The other side ended the connection: it may have received the request. */
export const isBrokenOff = (error: unknown): boolean =>
  causesOf(error).some(({ code }) => code !== undefined && BROKEN_OFF.has(code));

/** The first cause with a code, else what was thrown, in its own words. Fetch wraps it in an error that says nothing. */
export const reasonOf = (error: unknown): string => {
  const causes = causesOf(error).filter(({ message }, at, all) => message !== "fetch failed" || at === all.length - 1);
  return (causes.find(({ code }) => code !== undefined) ?? causes[0])?.message ?? "";
};

export const causesOf = (error: unknown): { code: string | undefined; message: string }[] => {
  const causes = [];
  for (let cause = error; cause instanceof Error && causes.length < MAX_CAUSES; cause = innerCause(cause)) {
    const { code } = cause as { code?: unknown };
    const text = typeof code === "string" ? code : undefined;
    causes.push({ code: text, message: cause.message || (text ?? cause.name) });
  }
  return causes;
};

/** A host with several addresses fails with the errors of all of them. */
const innerCause = (error: Error): unknown => (error instanceof AggregateError ? error.errors[0] : error.cause);
