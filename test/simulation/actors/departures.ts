// The tenant leaves for another deployment and stays after all, and its deletion while a batch to history is in transit.

import type { Killswitch } from "../../../domain/killswitch.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import type { Result } from "../../../domain/words/result.ts";
import { DRAIN_DELAY_MS } from "../../../durable-objects/store/outbox.ts";
import { isTenantsReached } from "../invariants/money.ts";
import { takeSnapshot } from "../invariants/snapshot.ts";
import type { StepKind } from "../plan.ts";
import { TENANT } from "../platform/shell.ts";
import type { Action, World } from "../world.ts";

export const ELSEWHERE = "https://elsewhere.example";

/** The answer by the time that nothing moves any more; null if a fault hit the call. */
export const heard = async <T>({ shell }: World, call: Promise<T>, look = shell.atRest): Promise<T | null> => {
  let answer: T | null = null;
  call.then(
    (value) => {
      answer = value;
    },
    () => {},
  );
  await shell.settle();
  look();
  while (shell.history.isBusy) {
    shell.history.answer("fine");
    await shell.settle();
  }
  return answer;
};

/** One fault strikes a call, and its repetition. */
export const MOST_FAULTS = 3;

/** The move is cancelled. */
export const stay = async (world: World): Promise<Result<null, Refusal> | null> => {
  let stayed: Result<null, Refusal> | null = null;
  for (let time = 0; time < MOST_FAULTS && stayed === null; time += 1)
    stayed = await heard(world, (await world.shell.tenant()).stay(), () => {
      // What ended meanwhile told nobody, so memory is built again.
      world.shell.memory = null;
      world.shell.atRest();
    });
  return stayed;
};

/** Nobody is served meanwhile, and afterwards an operator's halt is what it was. */
const leaveAndStay: Action = async (world, [away]) => {
  const { admin, model, shell } = world;
  // What was asked in the same commit comes first.
  await shell.settle();
  const { killswitch } = takeSnapshot(world);
  const left = await heard(world, (await shell.tenant()).leave(ELSEWHERE));
  const served = await heard(world, shell.call(admin, "readKillswitch", null));
  if (left?.ok && served !== null && (served.ok || served.error.code !== "tenant_unavailable"))
    model.violate("a tenant that has left is served");
  await shell.advance(Math.ceil(away * MOST_AWAY_MS));
  const stayed = await stay(world);
  if (left?.ok && stayed?.ok) checkHalt(world, killswitch);
};

/** The halt for a move ends with it, and an operator's does not. */
export const checkHalt = (world: World, before: Killswitch): void => {
  const now = takeSnapshot(world);
  const { level, reason } = now.killswitch;
  if ((level !== before.level || reason !== before.reason) && !isTenantsReached(world, now))
    world.model.violate(`the killswitch was at ${before.level} before the move, and is at ${level}`);
};

const MOST_AWAY_MS = 20_000;
const LONG_MS = 120_000;

/** The last of a run: nothing of the tenant is left, here or in history. */
export const deleteTenant = async ({ admin, shell }: World): Promise<string | null> => {
  const { history } = shell;
  history.weather = "slow";
  void shell.call(admin, "pauseWorker", { instance: "worker-0", reason: null, untilAt: null });
  await shell.settle();
  await shell.advance(DRAIN_DELAY_MS);
  let isEnded = false;
  void (await shell.tenant()).destroy().then(() => {
    isEnded = true;
  });
  await shell.settle();
  if (isEnded && history.isBusy) return "a tenant is deleted while a batch is on its way to history";
  history.answer("fine");
  await shell.settle();
  if (!isEnded) return "the deletion of a tenant never ends";
  history.deleteTenant(TENANT);
  history.weather = "fine";
  await shell.advance(LONG_MS);
  const table = history.tableWith(TENANT);
  if (table !== null) return `history has ${table} of a deleted tenant`;
  const kept = shell.disk.tables().find((name) => shell.disk.rows(`SELECT 1 FROM ${name} LIMIT 1`).length > 0);
  return kept === undefined ? null : `a deleted tenant has rows in ${kept}`;
};

export const DEPARTURES = { "leave and stay": leaveAndStay } satisfies Partial<Record<StepKind, Action>>;
