// One run of a plan: its steps, every invariant after each, then the calm phase. Returns what was broken first.

import { BATCH_ACTIONS } from "./actors/batches.ts";
import { CALLER_ACTIONS } from "./actors/callers.ts";
import { CLIENT_ACTIONS } from "./actors/clients.ts";
import { DEPARTURES } from "./actors/departures.ts";
import { ERRANDS } from "./actors/errands.ts";
import { FAULTS } from "./actors/faults.ts";
import { FILE_ACTIONS } from "./actors/files.ts";
import { KEY_LIMIT_ACTIONS } from "./actors/key-limits.ts";
import { LATE_REPORTS } from "./actors/late-reports.ts";
import { LIMIT_ACTIONS } from "./actors/limits.ts";
import { MOVES } from "./actors/moves.ts";
import { OPERATOR_ACTIONS } from "./actors/operators.ts";
import { RUNNER_ACTIONS } from "./actors/runners.ts";
import { VIEWER_ACTIONS } from "./actors/viewers.ts";
import { VISITOR_ACTIONS } from "./actors/visitors.ts";
import { WORKER_ACTIONS } from "./actors/workers.ts";
import { calm } from "./calm.ts";
import { hearAudit } from "./invariants/audit.ts";
import { INVARIANTS } from "./invariants/invariants.ts";
import { hearNews, remember, type Snapshot, takeSnapshot } from "./invariants/snapshot.ts";
import type { Plan, Step } from "./plan.ts";
import { breatheOut } from "./platform/platform.ts";
import { type Action, World } from "./world.ts";

export interface Violation {
  readonly what: string;
  /** After which step; the number of steps for the calm phase. */
  readonly step: number;
}

const ACTORS: Readonly<Record<string, Action>> = {
  ...CLIENT_ACTIONS,
  ...CALLER_ACTIONS,
  ...BATCH_ACTIONS,
  ...FILE_ACTIONS,
  ...WORKER_ACTIONS,
  ...VISITOR_ACTIONS,
  ...VIEWER_ACTIONS,
  ...LIMIT_ACTIONS,
  ...KEY_LIMIT_ACTIONS,
  ...RUNNER_ACTIONS,
  ...OPERATOR_ACTIONS,
  ...LATE_REPORTS,
};

/** They move the world on. */
const CONTROLLERS: Readonly<Record<string, Action>> = { ...FAULTS, ...ERRANDS, ...DEPARTURES, ...MOVES };

const take = async (world: World, { kind, chances, isJoined }: Step): Promise<void> => {
  world.shell.history.answer();
  const controller = CONTROLLERS[kind];
  const act = controller ?? ACTORS[kind];
  if (act === undefined) throw new Error(`nobody knows how to ${kind}`);
  const acting = Promise.resolve(act(world, chances)).catch((error: Error) =>
    world.model.violate(`the simulation itself failed: ${error.stack}`),
  );
  // Steps that control the world are awaited; a call to the object waits until it may continue.
  if (controller !== undefined) await acting;
  if (!isJoined) await world.shell.settle();
};

const CHECKS = Object.entries(INVARIANTS);

/** Shows whether anything can have changed since the last check. */
const signsOf = ({ shell: { handle, history, disk } }: World): readonly unknown[] => [
  handle,
  handle.workCount,
  handle.isDead,
  history.appliedCount,
  disk.writeCount,
  disk.alarmAt,
];

/** Most checks look at what was written; every so often, and when nothing moves any more, one looks at everything. */
const LOOKS_TO_WHOLE = 100;

/**
 * Checks everything; returns the first thing that is wrong. If no transaction ran and nothing arrived, nothing has
 * changed.
 */
const inspector = (world: World) => {
  let before: Snapshot | null = null;
  let signs: readonly unknown[] = [];
  let looks = 0;
  return (isCertain = false): string | null => {
    const heard = world.shell.surprises[0] ?? world.model.violations[0];
    if (heard !== undefined) return heard;
    const last = signs;
    signs = signsOf(world);
    if (before !== null && signs.every((sign, index) => sign === last[index]) && !isCertain) {
      before = { ...before, nowAt: world.shell.clock.nowAt, changed: [], outbox: [] };
      return null;
    }
    looks += 1;
    const written = world.shell.disk.takeWritten();
    const isWhole = isCertain || looks % LOOKS_TO_WHOLE === 0;
    const now = takeSnapshot(world, before, isWhole ? null : written);
    hearNews(world, now);
    hearAudit(world, now);
    const [news] = world.model.violations;
    if (news !== undefined) return news;
    for (const [name, check] of CHECKS) {
      const wrong = check(before ?? now, now, world);
      if (wrong !== null) return `${name}: ${wrong}`;
    }
    remember(world, before, now);
    before = now;
    return null;
  };
};

export const runPlan = async (plan: Plan): Promise<Violation | null> => {
  const world = new World(plan.seed);
  try {
    await world.begin();
    const inspect = inspector(world);
    world.shell.atRest = () => {
      const wrong = inspect();
      if (wrong !== null) world.model.violate(wrong);
    };
    for (const [index, step] of plan.steps.entries()) {
      world.isShared = step.isJoined || (plan.steps[index - 1]?.isJoined ?? false);
      world.connectedBefore = world.connected();
      await take(world, step);
      const wrong = inspect();
      if (wrong !== null) return { what: wrong, step: index };
    }
    world.isShared = false;
    const wrong = await calm(world, () => inspect(true));
    return wrong === null ? null : { what: wrong, step: plan.steps.length };
  } finally {
    await breatheOut();
    world.shell.close();
  }
};
