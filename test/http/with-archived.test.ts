// A command whose edge stalls between its two calls: history's record may be out of date and is read again.

import { expect, test } from "vitest";
import type { Archived, Brought } from "../../domain/job/archived-job.ts";
import { notFound, type Refusal } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import { withArchived } from "../../src/history/with-archived.ts";
import type { AppContext } from "../../src/http/auth.ts";

const CONTEXT = { env: {} } as unknown as AppContext;

const RECORD = { prompt: "from history" } as Archived;

/** An object that does not have the job, and accepts a record only from the `takesFrom`th call on. */
const absentUntil = (takesFrom: number) => {
  const asked: (number | null)[] = [];
  const ask = async (archived?: Brought): Promise<Result<string, Refusal>> => {
    asked.push(archived?.absentAt ?? null);
    const at = asked.length;
    return archived !== undefined && at >= takesFrom
      ? ok(archived.prompt)
      : err({ ...notFound("job", "j"), absentAt: at });
  };
  return { asked, ask };
};

test("each record comes with the instant at which the object last said that it has no such job", async () => {
  const { asked, ask } = absentUntil(3);
  expect(await withArchived(CONTEXT, "acme", ask, async () => RECORD)).toEqual(ok("from history"));
  expect(asked).toEqual([null, 1, 2]);
});

test("after three outdated records the caller is told to try again", async () => {
  const { asked, ask } = absentUntil(99);
  const answer = await withArchived(CONTEXT, "acme", ask, async () => RECORD);
  expect(answer).toMatchObject({ ok: false, error: { code: "history_unavailable" } });
  expect(asked).toEqual([null, 1, 2, 3]);
});

test("what history does not have either is not found", async () => {
  const { asked, ask } = absentUntil(1);
  expect(await withArchived(CONTEXT, "acme", ask, async () => null)).toMatchObject({
    ok: false,
    error: { code: "not_found" },
  });
  expect(asked).toEqual([null]);
});

test("history is read in a turn of the tenant's, and the object's own answer waits for none", async () => {
  const turns: string[] = [];
  const takeTurn = async (tenant: string, work: string) => {
    turns.push(`${tenant} ${work}`);
    return () => turns.push("end");
  };
  const context = { env: { HOME: { takeTurn } } } as unknown as AppContext;
  expect(
    await withArchived(
      context,
      "acme",
      async () => ok("here"),
      async () => RECORD,
    ),
  ).toEqual(ok("here"));
  expect(turns).toEqual([]);
  const { ask } = absentUntil(2);
  expect(await withArchived(context, "acme", ask, async () => RECORD)).toEqual(ok("from history"));
  expect(turns).toEqual(["acme reading", "end"]);
});
