// A webhook is told of jobs that wait for capacity, once they have waited for long enough, and again while it lasts; and
// of workers without work, once for each time.

import { expect, test } from "vitest";
import type { NewJob } from "../../domain/job/new-job.ts";
import { report } from "../../durable-objects/operations/fleet/presence.ts";
import { pause, setHours } from "../../durable-objects/operations/fleet/workers.ts";
import { clearLevel, engageKillswitch } from "../../durable-objects/operations/halts/killswitch.ts";
import { cancel, createOne, dispatch } from "../../durable-objects/operations/jobs/jobs.ts";
import { create } from "../../durable-objects/operations/webhooks.ts";
import { announceIdle } from "../../durable-objects/steps/idle-workers.ts";
import { nextWantedAt } from "../../durable-objects/steps/wanted.ts";
import { announceWanted } from "../../durable-objects/sweep/capacity.ts";
import { nextIdleAt } from "../../durable-objects/turn/idleness.ts";
import type { Turn } from "../../durable-objects/turn/turn.ts";
import { newJob } from "../support/new-job.ts";
import { presence } from "../support/presence.ts";
import { bareTurns } from "../support/workerd/bare-turns.ts";

/** A Monday at noon. */
const START = Date.parse("2026-01-12T12:00:00Z");
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

const WEBHOOK = {
  id: "hook",
  secret: "",
  url: "https://hook.example",
  origin: "https://signalbox.example",
  events: ["capacity.wanted" as const],
  tags: [],
  description: "",
};
const PRESENCE = presence({ instance: "w", tags: ["gpu"] });

type At = (ms: number, verb: (turn: Turn) => unknown) => Turn;

const inTenant = <T>(name: string, use: (at: At, restart: () => void) => T): Promise<T> =>
  bareTurns(name, START, ({ turnAt, reload }) => {
    const at: At = (ms, verb) => {
      const turn = turnAt(START + ms);
      verb(turn);
      return turn;
    };
    return use(at, () => reload(START));
  });

const ask =
  (asked: Partial<NewJob> = {}) =>
  (turn: Turn) =>
    createOne(turn, { job: newJob({ tags: ["gpu"], ...asked }), idempotency: null });
const toldOf = ({ announcements }: Turn): unknown[] => announcements.map(({ data }) => data);
const dueIn = (turn: Turn): number | null => {
  const at = nextWantedAt(turn);
  return at === null ? null : at - START;
};

test("a group that has waited for long enough is told, again every five minutes, also after a restart, and not without one", async () => {
  await inTenant("capacity-repeated", (at, restart) => {
    at(0, (turn) => create(turn, WEBHOOK));
    expect(toldOf(at(0, announceWanted))).toEqual([]);
    const asked = at(0, ask());
    expect([asked.wakeAt - START, dueIn(asked)]).toEqual([10 * SECOND, 10 * SECOND]);
    at(SECOND, ask({ priority: "high" }));
    expect(toldOf(at(9 * SECOND, announceWanted))).toEqual([]);
    const first = at(12 * SECOND, announceWanted);
    const group = { provider: null, model: null, tags: ["gpu"], api: null };
    const wanted = { group, waiting: 2, oldest_seconds: 12, reason: "no_worker", priority_max: "high" };
    expect(toldOf(first)).toEqual([wanted]);
    expect(dueIn(first)).toBe(12 * SECOND + 5 * MINUTE);
    restart();
    expect(toldOf(at(MINUTE, announceWanted))).toEqual([]);
    expect(toldOf(at(12 * SECOND + 5 * MINUTE, announceWanted))).toEqual([{ ...wanted, oldest_seconds: 312 }]);
  });
});

test("a group that waits again is told after the same time, however short before it was told of the last wait", async () => {
  await inTenant("capacity-again", (at) => {
    at(0, (turn) => create(turn, WEBHOOK));
    at(0, ask());
    expect(toldOf(at(10 * SECOND, announceWanted))).toHaveLength(1);
    const { store } = at(20 * SECOND, (turn) => report(turn, PRESENCE));
    expect(store.jobs.leasedBy("w")).toHaveLength(1);
    expect(dueIn(at(30 * SECOND, ask()))).toBe(40 * SECOND);
    expect(toldOf(at(39 * SECOND, announceWanted))).toEqual([]);
    expect(toldOf(at(40 * SECOND, announceWanted))).toHaveLength(1);
    at(41 * SECOND, ask());
    expect(toldOf(at(2 * MINUTE, announceWanted))).toEqual([]);
  });
});

test("the reason says what is missing, and jobs that got a worker are not told", async () => {
  await inTenant("capacity-reasons", (at) => {
    at(0, (turn) => create(turn, WEBHOOK));
    at(0, (turn) => report(turn, PRESENCE));
    at(0, ask());
    expect(toldOf(at(20 * SECOND, announceWanted))).toEqual([]);
    at(20 * SECOND, ask());
    const reasonAt = (ms: number): unknown[] => {
      at(ms, (turn) => turn.store.capacityNotices.remove([...turn.store.capacityNotices.all().keys()][0] ?? ""));
      return at(ms, announceWanted).announcements.map(({ data }) => (data as { reason: string }).reason);
    };
    expect(reasonAt(31 * SECOND)).toEqual(["all_full"]);
    at(32 * SECOND, (turn) => setHours(turn, { instance: "w", hours: "Sun 10:00-11:00", timezone: "UTC" }));
    expect(reasonAt(33 * SECOND)).toEqual(["all_unavailable"]);
    at(34 * SECOND, (turn) => pause(turn, { instance: "w", reason: null, untilAt: null }));
    expect(reasonAt(35 * SECOND)).toEqual(["all_paused"]);
    expect(reasonAt(10 * MINUTE)).toEqual(["no_worker"]);
  });
});

test("the killswitch wakes no machine, and its end looks again; nobody is told who did not ask", async () => {
  await inTenant("capacity-killswitch", (at) => {
    at(0, (turn) => create(turn, { ...WEBHOOK, events: ["job.completed"] }));
    expect(dueIn(at(0, ask()))).toBeNull();
    expect(dueIn(at(SECOND, (turn) => create(turn, { ...WEBHOOK, id: "second" })))).toBe(SECOND);
    expect(dueIn(at(20 * SECOND, (turn) => engageKillswitch(turn, { level: 1 })))).toBeNull();
    const cleared = at(30 * SECOND, (turn) => clearLevel(turn, { resumeAll: true }));
    expect([cleared.wakeAt - START, dueIn(cleared)]).toEqual([30 * SECOND, 30 * SECOND]);
    expect(toldOf(at(30 * SECOND, announceWanted))).toHaveLength(1);
  });
});

test("lines of batches want capacity only where the config says so", async () => {
  await inTenant("capacity-batches", (at) => {
    at(0, (turn) => create(turn, WEBHOOK));
    const batchPlace = { line: 1, customId: "c1", model: "m1", yieldsUntilAt: START };
    at(0, ask({ batch: "batch_1", batchPlace }));
    expect(toldOf(at(20 * SECOND, announceWanted))).toEqual([]);
    const wanted = at(21 * SECOND, (turn) => {
      const { config } = turn.memory;
      turn.memory.config = { ...config, capacity: { ...config.capacity, isForBatches: true } };
      announceWanted(turn);
    });
    expect(toldOf(wanted)).toHaveLength(1);
  });
});

const IDLE_WEBHOOK = { ...WEBHOOK, events: ["capacity.idle" as const] };
const idleIn = (turn: Turn): number | null => {
  const at = nextIdleAt(turn);
  return at === null ? null : at - START;
};

test("a worker without work is told after its time, once, also after a restart, and again after more work", async () => {
  await inTenant("capacity-idle", (at, restart) => {
    at(0, (turn) => report(turn, PRESENCE));
    expect(idleIn(at(0, (turn) => create(turn, WEBHOOK)))).toBeNull();
    expect(idleIn(at(MINUTE, (turn) => create(turn, { ...IDLE_WEBHOOK, id: "idle" })))).toBe(16 * MINUTE);
    const present = (ms: number) => at(ms, (turn) => report(turn, PRESENCE));
    for (let minute = 1; minute < 16; minute += 0.5) present(minute * MINUTE);
    restart();
    expect(toldOf(at(16 * MINUTE - 1, announceIdle))).toEqual([]);
    present(16 * MINUTE);
    const told = at(16 * MINUTE, announceIdle);
    expect(toldOf(told)).toEqual([{ worker: "w", idle_seconds: 900 }]);
    expect(idleIn(told)).toBeNull();
    const dispatched = at(17 * MINUTE, (turn) =>
      dispatch(turn, { job: newJob({ tags: ["gpu"] }), mayQueue: false, idempotency: null }),
    );
    const [leased] = dispatched.store.jobs.leasedBy("w");
    expect(idleIn(dispatched)).toBeNull();
    const freed = at(18 * MINUTE, (turn) => cancel(turn, { id: leased?.id ?? "" }));
    expect(idleIn(freed)).toBe(33 * MINUTE);
    expect(toldOf(at(40 * MINUTE, announceIdle))).toEqual([]);
    expect(idleIn(present(41 * MINUTE))).toBe(56 * MINUTE);
  });
});
