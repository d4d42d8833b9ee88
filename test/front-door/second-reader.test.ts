// A second reader of a job that waits: what is done for it ends with it.

import { expect, test } from "vitest";
import { ok } from "../../domain/words/result.ts";
import type { Followed } from "../../durable-objects/operations/front-door/follow.ts";
import { statesOf } from "../../src/front-door/answer/second-reader.ts";
import { writtenBody } from "../../src/front-door/answer/written-body.ts";
import type { AppContext } from "../../src/http/auth.ts";
import type { TokenFacts } from "../../src/http/key-format.ts";

const WAITING = { id: "j", status: "pending", lease: 0, worker: null, stream: true } as Followed;
const TOKEN = { tenant: "t", jurisdiction: null } as TokenFacts;

/** A reader of a job that nobody takes, and how often its tenant was asked for it. */
const reader = (answers: () => Promise<unknown>) => {
  const leaving = new AbortController();
  let asked = 0;
  const left: unknown[] = [];
  const tenant = {
    watch: () => {
      asked += 1;
      return answers();
    },
    leaveWait: async (caller: string) => ok(left.push(caller)),
  };
  const env = { TENANT: { getByName: () => tenant }, HOME: {} };
  const executionCtx = { waitUntil: () => {} };
  const c = { env, executionCtx, req: { raw: { signal: leaving.signal } } } as unknown as AppContext;
  const states = statesOf(c, TOKEN, WAITING, writtenBody());
  return { states, leave: () => leaving.abort(new Error("left")), asked: () => asked, left };
};

test("that leaves while nothing happens is followed no further", async () => {
  const { states, leave, left } = reader(() => new Promise(() => {}));
  expect((await states.next()).value).toBe(WAITING);
  const next = states.next();
  leave();
  await expect(next).rejects.toThrow("left");
  expect(left).toHaveLength(1);
});

test("that has left is asked for no more", async () => {
  const { states, leave, asked } = reader(async () => {
    leave();
    await new Promise((resolve) => setTimeout(resolve, 1));
    return ok(WAITING);
  });
  await states.next();
  await expect(states.next()).rejects.toThrow("left");
  expect(asked()).toBe(1);
});
