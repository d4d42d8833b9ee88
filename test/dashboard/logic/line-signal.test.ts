// The dispatch signal: green only while work can be dispatched and succeeds.

import { describe, expect, it } from "vitest";
import { type LineFacts, lineSignal } from "../../../dashboard/overview/line-signal.ts";

const NOW = Date.UTC(2026, 0, 1);
const pool = (given: Partial<LineFacts["fleet"][number]> = {}): LineFacts["fleet"][number] => ({
  workers: 2,
  offline: 0,
  paused: 0,
  unavailable: 0,
  places: 4,
  load: 1,
  ...given,
});
const waitOf = (seconds: number) => ({
  reason: 'no worker offers tag "gpu"',
  oldestAt: NOW - seconds * 1000,
  count: 3,
});
const budget = { period: "day", limitUsd: 5 } as const;

const CASES: [name: string, facts: Partial<LineFacts>, says: string][] = [
  ["free places, nothing waits", {}, "Clear: 3 free places"],
  ["a job that has just come", { waiting: 3, longestWait: waitOf(1) }, "Clear: 3 free places"],
  ["the killswitch", { haltLevel: 2, fleet: [] }, "Stop: killswitch level 2"],
  ["nobody", { fleet: [] }, "Stop: no worker is registered"],
  ["all away", { fleet: [pool({ offline: 2, places: 0, load: 0 })] }, "Stop: every worker is offline"],
  ["all unavailable", { fleet: [pool({ unavailable: 2, places: 0, load: 0 })] }, "Stop: every worker is unavailable"],
  ["all paused", { fleet: [pool({ paused: 2, places: 0, load: 0 })] }, "Caution: every worker is paused"],
  ["all shut down", { fleet: [pool({ places: 0, load: 0 })] }, "Caution: no worker offers a place"],
  ["all busy", { fleet: [pool({ load: 4 })] }, "Caution: every worker is at capacity"],
  [
    "jobs that wait beside free places",
    { waiting: 3, longestWait: waitOf(11) },
    'Caution: 3 jobs wait, no worker offers tag "gpu"',
  ],
  [
    "a reached budget while local runtimes go on",
    { budgetReached: budget, underWay: 1 },
    "Caution: the day's budget of $5.00 is reached",
  ],
  [
    "a reached budget that all wait for",
    { budgetReached: budget, waiting: 9 },
    "Stop: the day's budget of $5.00 is reached",
  ],
  ["more failures than successes", { failed: 6, completed: 4 }, "Caution: 6 of the last 10 jobs failed"],
  ["nothing but failures", { failed: 6 }, "Stop: the last 6 jobs all failed"],
];

describe("the dispatch signal", () => {
  for (const [name, facts, says] of CASES) {
    it(`with ${name} says: ${says}`, () => {
      const calm: LineFacts = {
        nowAt: NOW,
        haltLevel: 0,
        fleet: [pool()],
        waiting: 0,
        underWay: 0,
        longestWait: null,
        budgetReached: null,
        completed: 0,
        failed: 0,
      };
      const shown = lineSignal({ ...calm, ...facts });
      expect(shown.says).toBe(says);
      expect(shown.aspect).toBe(says.split(":")[0]?.toLowerCase());
    });
  }
});
