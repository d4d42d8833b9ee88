// The tenant moves to another deployment: an object on an empty disk gets every row, and is the tenant from then on.

import type { TablePage, TableRows } from "../../../domain/tenant/moved-rows.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import type { Result } from "../../../domain/words/result.ts";
import type { Leaving } from "../../../durable-objects/moves/moving.ts";
import type { Tenant } from "../../../durable-objects/tenant.ts";
import { takeSnapshot } from "../invariants/snapshot.ts";
import type { StepKind } from "../plan.ts";
import type { Action, World } from "../world.ts";
import { checkHalt, ELSEWHERE, heard, MOST_FAULTS, stay } from "./departures.ts";

interface MovedPage {
  readonly table: string;
  readonly rows: TableRows;
}

/** From a few rows a page to all of them. */
const pageCharsOf = (chance: number): number => Math.ceil(10 ** (3 + chance * 3));

/** Everything that the tenant takes along; null if a fault hit the reading. */
const readAll = async (world: World, { tables }: Leaving, pageChars: number): Promise<MovedPage[] | null> => {
  const parts: MovedPage[] = [];
  for (const table of tables)
    for (let after: TablePage["next"] = null, isFirst = true; isFirst || after !== null; isFirst = false) {
      const page: Result<TablePage, Refusal> | null = await heard(
        world,
        (await world.shell.tenant()).readTable({ table, after, maxChars: pageChars }),
      );
      if (!page?.ok) return null;
      parts.push({ table, rows: page.value });
      after = page.value.next;
    }
  return parts;
};

type Stage = (tenant: Tenant) => Promise<Result<unknown, Refusal>>;

/** One stage of the arrival, repeated after a fault. Returns what is wrong. */
const take = async (world: World, stage: Stage, look?: () => void): Promise<string | null> => {
  for (let time = 0; time < MOST_FAULTS; time += 1) {
    const answer = await heard(world, stage(await world.shell.tenant()), look);
    if (answer !== null) return answer.ok ? null : `a tenant may not arrive: ${answer.error.code}`;
  }
  return "a tenant never arrives";
};

/** Nothing is looked at until every row is there: a part of the rows is no tenant. */
const arrive = async (world: World, { move, schema }: Leaving, parts: readonly MovedPage[]): Promise<string | null> => {
  const stages: Stage[] = [
    (tenant) => tenant.makeRoom({ move, schema, isExpected: true, database: 0 }),
    ...parts.map(
      ({ table, rows }): Stage =>
        (tenant) =>
          tenant.writeTable(table, rows),
    ),
  ];
  for (const stage of stages) {
    const wrong = await take(world, stage, () => {});
    if (wrong !== null) return wrong;
  }
  return take(world, (tenant) => tenant.settleIn("https://here.example"));
};

const moveElsewhere: Action = async (world, [size, fault, when]) => {
  const { shell, model } = world;
  // What was asked in the same commit comes first.
  await shell.settle();
  const { killswitch } = takeSnapshot(world);
  const left = await heard(world, (await shell.tenant()).leave(ELSEWHERE));
  const parts = left?.ok ? await readAll(world, left.value, pageCharsOf(size)) : null;
  if (!left?.ok || parts === null) return void (await stay(world));
  shell.moveOut();
  await shell.tenant();
  if (fault < 0.5) shell.handle.failAfter(1 + Math.floor(when * 100), fault < 0.25 ? "throw" : "crash");
  const wrong = await arrive(world, left.value, parts);
  shell.handle.heal();
  if (wrong === null) checkHalt(world, killswitch);
  else model.violate(wrong);
};

export const MOVES = { "move elsewhere": moveElsewhere } satisfies Partial<Record<StepKind, Action>>;
