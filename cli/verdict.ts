// What checks found: each is good, bad, or to be looked at.

import type { Output } from "./output.ts";

type Verdict = "good" | "warning" | "bad";

const SIGN: Readonly<Record<Verdict, string>> = { good: "ok", warning: "look", bad: "WRONG" };

export interface Finding {
  readonly what: string;
  readonly verdict: Verdict;
  readonly says: string;
}

/** Shows them; returns the exit code. `more` is what their JSON says besides. */
export const showFindings = (output: Output, checks: readonly Finding[], more: object = {}): number => {
  const ok = checks.every(({ verdict }) => verdict !== "bad");
  output.table({ ok, ...more, checks }, checks, [
    { title: "what", of: ({ what }) => what },
    { title: "", of: ({ verdict }) => SIGN[verdict] },
    { title: "found", of: ({ says }) => says, wraps: true },
  ]);
  return ok ? 0 : 1;
};
