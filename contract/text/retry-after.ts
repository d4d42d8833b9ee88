/** How long an answer asks to wait: seconds, or a date (RFC 9110, 10.2.3). Null: it does not say. */
export const retryAfterMs = (header: string | null | undefined, nowMs: number): number | null => {
  const ms = /^\d+(\.\d+)?$/.test(header ?? "") ? Number(header) * 1000 : Date.parse(header ?? "") - nowMs;
  return Number.isNaN(ms) ? null : Math.max(0, ms);
};
