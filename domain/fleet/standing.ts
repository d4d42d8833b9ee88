// Why a worker takes no jobs. Pure. Invariant: it counts once, so that every count of a fleet agrees with the others.

export type Standing = "offline" | "paused" | "unavailable";

interface Known {
  readonly status: string;
  readonly paused: boolean;
  readonly unavailable: string | null;
}

/** Null for a worker that takes jobs. A pause hides what else would be wrong: only its end shows whether it still is. */
export const standingOf = ({ status, paused, unavailable }: Known): Standing | null => {
  if (status === "offline") return "offline";
  if (paused) return "paused";
  return unavailable === null ? null : "unavailable";
};
