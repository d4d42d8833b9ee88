// Calls on their way to a tenant's object: how many messages they need.

import { setImmediate as tickEnd } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Refusal } from "../../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../../domain/words/result.ts";
import {
  answerGroup,
  answerText,
  databaseOfLine,
  type GroupedCall,
  LATER,
  linesOf,
  NEXT,
  readLine,
} from "../../../durable-objects/calls/grouped-calls.ts";
import { CallGroup } from "../../../self-host/edge/call-group.ts";
import { objectNamespace } from "../../../self-host/edge/object-namespace.ts";
import type { ObjectProcess } from "../../../self-host/edge/object-process.ts";

const call = (id: string) => ({
  credential: { kind: "key" as const, id: "k", hash: "h" },
  name: "getJob" as const,
  request: { id },
});

const idsIn = (group: string): string[] =>
  (JSON.parse(group) as { request: { id: string } }[]).map(({ request }) => request.id);

type Decide = (request: { id: string }, name: string) => Result<unknown, Refusal>;

/** An object whose turns decide so. */
const object =
  (decide: Decide) =>
  async <T>(
    _credential: unknown,
    name: string,
    request: { id: string },
    inTurn: (work: () => Result<unknown, Refusal>) => T,
  ): Promise<T> =>
    inTurn(() => decide(request, name));

test("what arrives in one tick is one message, and what arrives while it is under way is the next", async () => {
  const sent: string[][] = [];
  const answers: (() => void)[] = [];
  const send = (group: string) =>
    new Promise<readonly string[]>((resolve) => {
      sent.push(idsIn(group));
      answers.push(() => resolve(idsIn(group)));
    });
  const group = new CallGroup(send, () => undefined);

  const first = [group.add(call("1")), Promise.resolve().then(() => group.add(call("2")))];
  await tickEnd();
  await tickEnd();
  expect(sent).toEqual([["1", "2"]]);

  const next = [group.add(call("3")), group.add(call("4"))];
  await tickEnd();
  await tickEnd();
  expect(sent).toHaveLength(1);

  answers[0]?.();
  expect(await Promise.all(first)).toEqual(["1", "2"]);
  expect(sent).toEqual([
    ["1", "2"],
    ["3", "4"],
  ]);
  answers[1]?.();
  expect(await Promise.all(next)).toEqual(["3", "4"]);
});

test.each([
  ["alone", 60_000, 4],
  ["beside other tenants", 6_000, 2],
])(
  "long calls %s share a message only as far as others may wait for it; one that is longer goes alone",
  async (where, long, together) => {
    const sent: number[] = [];
    const send = async (group: string) => {
      sent.push(idsIn(group).length);
      return idsIn(group);
    };
    const group = new CallGroup(
      send,
      () => undefined,
      () => where !== "alone",
    );
    const chars = [...Array<number>(together + 1).fill(long), 900_000, 100];
    await Promise.all(chars.map((length) => group.add(call("x".repeat(length)))));
    expect(sent).toEqual([together, 1, 1, 1]);
  },
);

test("the next message goes out before the callers of the last one are told", async () => {
  const told: string[] = [];
  const answers: (() => void)[] = [];
  const group = new CallGroup(
    (calls) =>
      new Promise((resolve) => {
        told.push(`sent ${idsIn(calls)}`);
        answers.push(() => resolve(idsIn(calls)));
      }),
    () => undefined,
  );
  const first = group.add(call("1")).then((id) => told.push(`answered ${id}`));
  await tickEnd();
  await tickEnd();
  const next = group.add(call("2")).then((id) => told.push(`answered ${id}`));
  answers[0]?.();
  await first;
  answers[1]?.();
  await next;
  expect(told).toEqual(["sent 1", "sent 2", "answered 1", "answered 2"]);
});

test("a message without an answer fails its own calls, and the next goes out all the same", async () => {
  let isBroken = true;
  const group = new CallGroup(
    async (calls) => {
      if (isBroken) throw new Error("away");
      return idsIn(calls);
    },
    () => undefined,
  );
  await expect(group.add(call("1"))).rejects.toThrow("away");
  isBroken = false;
  expect(await group.add(call("2"))).toBe("2");
});

test("each call of a group has an outcome of its own: a value as it was written, a refusal, or what it threw", async () => {
  const group = JSON.stringify([call("a\nb"), call("none"), call("broken")]);
  const answered = await answerGroup(
    group,
    (begin) => begin(),
    object(({ id }) => {
      if (id === "broken") throw Object.assign(new Error("overloaded"), { overloaded: true, retryable: true });
      return id === "none" ? err({ code: "not_found", kind: "job", id }) : ok({ id });
    }),
    () => 0,
  );
  const [value, refusal, thrown] = linesOf(answered);
  const read = readLine<{ id: string }>(value ?? "");
  expect(read.ok && [read.value.text, read.value.read()]).toEqual(['{"id":"a\\nb"}', { id: "a\nb" }]);
  expect(readLine(refusal ?? "")).toEqual(err({ code: "not_found", kind: "job", id: "none" }));
  const told = { message: "overloaded", overloaded: true, retryable: true };
  expect(() => readLine(thrown ?? "")).toThrow(expect.objectContaining(told));
});

test("what must wait is not called: its line says so, and the rest of its group is answered", async () => {
  const called: string[] = [];
  const answer = object((_request, name) => {
    called.push(name);
    return ok(name);
  });
  const group = JSON.stringify([{ ...call("1"), name: "createJobs" }, call("2")]);
  const mustWait = (name: string): boolean => name === "createJobs";
  const answered = await answerGroup(
    group,
    (begin) => begin(),
    answer,
    () => 1,
    mustWait,
  );
  expect([linesOf(answered), called]).toEqual([[LATER, '1+"getJob"'], ["getJob"]]);
});

test("a call that must wait is asked again alone, where it waits without a group behind it", async () => {
  const asked: unknown[] = [];
  const process = {
    sendGroup: async (_path: string, group: string) => idsIn(group).map((id) => (id === "1" ? LATER : `+${id}`)),
    sendAlone: async (...args: unknown[]) => {
      asked.push(args);
      return "+late";
    },
  } as unknown as ObjectProcess;
  const stub = objectNamespace("TENANT", () => process).getByName("acme") as unknown as {
    callInGroup: (call: GroupedCall) => Promise<string>;
  };
  expect(await Promise.all([stub.callInGroup(call("1")), stub.callInGroup(call("2"))])).toEqual(["+late", "+2"]);
  expect(asked).toEqual([["/TENANT/acme", JSON.stringify(call("1"))]]);
});

test("a group ends behind long answers: what comes after them is not done, and its line says so", async () => {
  const done: string[] = [];
  const answer = object(({ id }) => {
    done.push(id);
    return ok("x".repeat(id === "short" ? 10 : 600_000));
  });
  const ids = ["short", "1", "2", "3", "short"];
  const group = JSON.stringify(ids.map((id) => call(id)));
  const answered = await answerGroup(
    group,
    (begin) => begin(),
    answer,
    () => 0,
  );
  expect(done).toEqual(["short", "1", "2"]);
  expect(linesOf(answered).map((line) => (line === NEXT ? NEXT : line.length))).toEqual([
    13,
    600_003,
    600_003,
    NEXT,
    NEXT,
  ]);
});

test("what a group left undone goes first in the next, in its order", async () => {
  const sent: string[][] = [];
  const group = new CallGroup(
    async (calls) => {
      const ids = idsIn(calls);
      sent.push(ids);
      return ids.map((id, index) => (index < 2 ? id : NEXT));
    },
    () => undefined,
  );
  const added = ["1", "2", "3", "4", "5"].map((id) => group.add(call(id)));
  const vital = group.add({ ...call("vital"), name: "startJob" });
  expect(await Promise.all(added)).toEqual(["1", "2", "3", "4", "5"]);
  expect(await vital).toBe("vital");
  expect(sent).toEqual([
    ["vital", "1", "2", "3", "4", "5"],
    ["2", "3", "4", "5"],
    ["4", "5"],
  ]);
});

test("an answer says which database has the tenant's history", async () => {
  const decide: Decide = ({ id }) => (id === "none" ? err({ code: "not_found", kind: "job", id }) : ok(7));
  const alone = async (_credential: unknown, name: string, request: { id: string }) => decide(request, name);
  for (const database of [0, 1, 15])
    for (const id of ["one", "none"]) {
      const line = await answerText(JSON.stringify(call(id)), alone, () => database);
      const [grouped] = linesOf(
        await answerGroup(
          JSON.stringify([call(id)]),
          (begin) => begin(),
          object(decide),
          () => database,
        ),
      );
      expect(grouped).toBe(line);
      expect(databaseOfLine(line)).toBe(database);
      const read = readLine(line);
      expect(read.ok ? read.value.read() : read.error.code).toBe(id === "none" ? "not_found" : 7);
    }
});
