// Why a request failed: Node keeps the reason in the chain of an error's causes.

const MAX_CAUSES = 8;

const NOT_CONNECTED =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|E(HOST|NET)UNREACH|EHOSTDOWN|UND_ERR_CONNECT_TIMEOUT|(CERT|DEPTH_ZERO|ERR_TLS|SELF_SIGNED|UNABLE_TO)_\w+)$/;

/** No connection was established, or its certificate was refused: the other side has received nothing of the request. */
export const isNeverReached = (error: unknown): boolean =>
  causesOf(error).some(({ code = "" }) => NOT_CONNECTED.test(code));

/** What the client of HTTP cannot parse has no code. */
const BROKEN_OFF =
  /^(ECONNRESET|EPIPE|UND_ERR_(SOCKET|HEADERS_OVERFLOW|RES_\w+)|(ERR_SSL|Z)_\w+|ERR_ASSERTION|terminated)$|^Response does not match the HTTP/;

/** The other side ended the connection, or what it sent is no answer: it may have received the request. */
export const isBrokenOff = (error: unknown): boolean =>
  causesOf(error).some(({ code, message }) => BROKEN_OFF.test(code ?? message));

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
