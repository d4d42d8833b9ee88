// W3C Trace Context: the header that links a job to its caller's trace.

/** A later version may say more after what version 00 says; `ff` is no version (3.2.2.1, 4.3). */
const TRACEPARENT = /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-|$)/;

const HEADER_CHARS = 55;

export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
}

/** null if the header is missing or malformed, which the standard says to ignore (W3C Trace Context, 3.2.2). */
export const readTraceparent = (header: string | null | undefined): TraceContext | null => {
  const [, traceId, spanId] = TRACEPARENT.exec(header ?? "") ?? [];
  return traceId === undefined || spanId === undefined ? null : { traceId, spanId };
};

/** Whether to record the trace: only if its caller does (W3C Trace Context, 3.2.2.5.1), or if there is no header. */
export const isSampled = (header: string | null): boolean =>
  header === null || parseInt(header.slice(-1), 16) % 2 === 1;

/** The caller's header in version 00; null if it names no trace. */
export const callersTraceparent = (header: string | null | undefined): string | null =>
  header != null && readTraceparent(header) !== null ? `00${header.slice(2, HEADER_CHARS)}` : null;

/**
 * The trace that a job begins whose caller has none: its id, a UUID, is the trace's, and the second half the first span's.
 * Cut by position, which costs a third of replacing the hyphens; a job is told three times.
 */
export const ownTraceOf = (jobId: string): TraceContext => {
  const spanId = `${jobId.slice(19, 23)}${jobId.slice(24)}`;
  return { traceId: `${jobId.slice(0, 8)}${jobId.slice(9, 13)}${jobId.slice(14, 18)}${spanId}`, spanId };
};

export const ownTraceparent = (jobId: string): string => {
  const { traceId, spanId } = ownTraceOf(jobId);
  return `00-${traceId}-${spanId}-01`;
};

/** The header with which a job goes on: in its caller's trace, or in its own. */
export const traceparentOf = ({ id, traceparent }: { readonly id: string; readonly traceparent: string | null }) =>
  traceparent ?? ownTraceparent(id);
