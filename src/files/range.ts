// One range of bytes (RFC 9110, 14): several in one request are answered with the whole, as the RFC allows.

import type { Refusal } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";

interface Range {
  readonly from: number;
  /** Without the end. */
  readonly to: number;
}

/** null: the whole. */
export const rangeOf = (header: string | undefined, bytes: number): Result<Range | null, Refusal> => {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? "") ?? [];
  if (first === undefined || last === undefined || first + last === "") return ok(null);
  const range =
    first === ""
      ? { from: Math.max(0, bytes - Number(last)), to: bytes }
      : { from: Number(first), to: last === "" ? bytes : Math.min(bytes, Number(last) + 1) };
  if (first !== "" && last !== "" && Number(last) < Number(first)) return ok(null);
  return range.from < range.to ? ok(range) : err({ code: "range_not_satisfiable", bytes });
};
