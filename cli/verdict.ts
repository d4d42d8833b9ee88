// What a check found.

export type Verdict = "good" | "warning" | "bad";

export const SIGN: Readonly<Record<Verdict, string>> = { good: "ok", warning: "look", bad: "WRONG" };

/** Of several findings the worst. */
export const isWell = (findings: readonly { readonly verdict: Verdict }[]): boolean =>
  findings.every(({ verdict }) => verdict !== "bad");
