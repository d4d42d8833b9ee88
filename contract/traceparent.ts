// W3C Trace Context: the header that ties a job to the trace of its caller.

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
}

/** null where the header is missing or not what the standard says: then it is ignored (W3C Trace Context, 3.2.2). */
export const readTraceparent = (header: string | null | undefined): TraceContext | null => {
  const [, traceId, spanId] = TRACEPARENT.exec(header ?? "") ?? [];
  return traceId === undefined || spanId === undefined ? null : { traceId, spanId };
};

const hex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** The caller's, or a new one. */
export const traceparentOf = (header: string | null | undefined): string => {
  if (readTraceparent(header) !== null) return header as string;
  const bytes = crypto.getRandomValues(new Uint8Array(24));
  return `00-${hex(bytes.subarray(0, 16))}-${hex(bytes.subarray(16))}-01`;
};
