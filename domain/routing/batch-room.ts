// What a worker leaves to other work than the lines of batches.

import type { Member } from "../fleet/fleet.ts";

export interface BatchRules {
  /** Of a worker with more than one place, so many stay free for other work. */
  readonly keepFree: number;
  /** Until when a worker gets no line after other work; null if it may have one. */
  readonly quietUntil: (member: Member) => number | null;
  /** Until when the provider gets no line after a rate limit; null if it may have one. */
  readonly backsOffUntil: (provider: string) => number | null;
  /** Why none of a batch's lines may run; null if they may. */
  readonly holds: (batch: string) => string | null;
}

export const backsOff = (provider: string, untilAt: number): string =>
  `provider ${provider} backs off until ${new Date(untilAt).toISOString()}`;

/** Why the worker leaves its place to other work than batches. */
export const leavesRoom = (member: Member, rules: BatchRules): string | null => {
  const { concurrency, provider } = member.worker;
  const backoffUntilAt = rules.backsOffUntil(provider);
  if (backoffUntilAt !== null) return backsOff(provider, backoffUntilAt);
  const places = `${rules.keepFree} of ${concurrency}`;
  if (concurrency > 1 && member.load + rules.keepFree >= concurrency)
    return `keeps ${places} places free for other work than batches`;
  const untilAt = rules.quietUntil(member);
  return untilAt === null ? null : "does other work, or did a moment ago: lines of batches wait until it is quiet";
};
