// The line from the edge in Node to the object: what its answers mean, and what it must not be taken for.

import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { beforeEach, expect, it } from "vitest";
import { newJobRequest, toNewJob } from "../../../contract/jobs/job.ts";
import { linesOf, NEXT, readLine } from "../../../durable-objects/calls/grouped-calls.ts";
import {
  type Answered,
  askedText,
  GROUP,
  LINE_URL,
  readAnswered,
} from "../../../durable-objects/sockets/object-line.ts";
import { read } from "../../../src/http/key-format.ts";
import { unwrap } from "../../../src/http/refused.ts";
import { credentialOf } from "../../../src/tenant/tenant.ts";
import { type Body, newWorld, type World } from "../../support/workerd/client.ts";

const SIGNING_SECRET = "signing-secret-of-the-tests";

let world: World;
beforeEach(async () => {
  world = await newWorld();
});

const call = async (name: string, request: unknown): Promise<unknown> => {
  const facts = await read(SIGNING_SECRET, world.key ?? "");
  if (facts === null) throw new Error("the key is not one of this service's");
  return { credential: credentialOf(facts), name, request };
};

const newJob = (prompt: string): Promise<unknown> =>
  call("createJob", { job: toNewJob(newJobRequest.parse({ prompt })), idempotency: null });

interface TestLine {
  readonly socket: WebSocket;
  readonly answers: Answered[];
  readonly ended: Promise<void>;
}

const openLine = async (): Promise<TestLine> => {
  const { webSocket: socket } = await world.stub.fetch(LINE_URL, { headers: { upgrade: "websocket" } });
  if (socket === null) throw new Error("the object opens no line");
  const answers: Answered[] = [];
  socket.accept();
  socket.addEventListener("message", ({ data }) => {
    answers.push(readAnswered(String(data)));
  });
  const ended = new Promise<void>((resolve) => socket.addEventListener("close", () => resolve()));
  return { socket, answers, ended };
};

const send = (line: TestLine, number: number, calls: readonly unknown[]): void =>
  line.socket.send(askedText({ number, method: GROUP, text: JSON.stringify(calls) }));

const outcomesOf = ({ text }: Answered) => linesOf(text).map((line) => readLine<Body>(line));

const answerTo = (line: TestLine, number: number): Answered =>
  line.answers.find((one) => one.number === number) as Answered;

it("answers each group under its number, also when several are under way", async () => {
  const line = await openLine();
  send(line, 7, [await newJob("one"), await newJob("two")]);
  send(line, 8, [await call("getJob", { id: "nobody's" })]);
  await expect.poll(() => line.answers.length).toBe(2);
  const made = outcomesOf(answerTo(line, 7)).map((outcome) => unwrap(outcome).read().id);
  expect(outcomesOf(answerTo(line, 8))).toMatchObject([{ ok: false, error: { code: "not_found" } }]);
  expect(await Promise.all(made.map((id) => world.ok("GET", `/api/jobs/${id}`)))).toMatchObject([
    { prompt: "one" },
    { prompt: "two" },
  ]);
});

it("calls any method beside the groups, and tells what it threw", async () => {
  const line = await openLine();
  const ask = (number: number, method: string, args: unknown): void =>
    line.socket.send(askedText({ number, method, text: JSON.stringify(args) }));
  const { credential } = (await call("authorizeRead", null)) as { credential: unknown };
  ask(1, "claimWaiting", [credential, { instance: "w", max: 1 }, 60_000]);
  ask(2, "isSyncHalted", []);
  ask(3, "endsOf", [null]);
  await expect.poll(() => line.answers.length).toBeGreaterThan(1);
  const outcomeOf = (number: number): unknown => JSON.parse(answerTo(line, number).text);
  expect(outcomeOf(2)).toEqual({ value: false });
  await expect.poll(() => outcomeOf(3)).toMatchObject({ thrown: { message: expect.stringContaining("null") } });
});

it("sends no answer before it is stored: an object that ends in between has neither told nor kept anything", async () => {
  const line = await openLine();
  send(line, 1, [await newJob("told and kept")]);
  await expect.poll(() => line.answers.length).toBe(1);

  const sent: string[] = [];
  const sending = WebSocket.prototype.send;
  await runInDurableObject(world.stub, (_tenant, state) => {
    WebSocket.prototype.send = function (text) {
      sending.call(this, text);
      if (this === line.socket || !String(text).startsWith("2\n")) return;
      sent.push(String(text));
      state.abort("ended before the commit");
    };
  });
  try {
    send(line, 2, [await newJob("neither")]);
    await line.ended;
  } finally {
    WebSocket.prototype.send = sending;
  }
  expect(sent).toHaveLength(1);
  expect(line.answers).toHaveLength(1);
  expect((await world.ok("GET", "/api/jobs")).jobs).toMatchObject([{ prompt: "told and kept" }]);
});

it("ends with its object, so that nobody waits for an answer", async () => {
  const line = await openLine();
  await runInDurableObject(world.stub, (_tenant, state) => state.abort("reset")).catch(() => undefined);
  await line.ended;
});

it("ends if a group is none", async () => {
  const line = await openLine();
  line.socket.send(askedText({ number: 1, method: GROUP, text: "no JSON" }));
  await line.ended;
  expect(line.answers).toEqual([]);
});

it("is none of the tenant's sockets, and lets the object sleep when it is closed", async () => {
  const line = await openLine();
  send(line, 1, [await newJob("waits")]);
  await expect.poll(() => line.answers.length).toBe(1);
  expect(await runInDurableObject(world.stub, (_tenant, state) => state.getWebSockets().length)).toBe(0);
  line.socket.close();
  await evictDurableObject(world.stub);
  expect((await world.ok("GET", "/api/jobs")).total).toBe(1);
});

it("takes a group as large as all bodies that go into one, and leaves those behind long answers to the next", async () => {
  const line = await openLine();
  const prompt = "x".repeat(200_000);
  let left = await Promise.all(Array.from({ length: 40 }, () => newJob(prompt)));
  const made = new Set<string>();
  for (let number = 1; left.length > 0; number += 1) {
    send(line, number, left);
    await expect.poll(() => line.answers.length).toBe(number);
    const lines = linesOf(answerTo(line, number).text);
    for (const one of lines.filter((text) => text !== NEXT)) made.add(unwrap(readLine<Body>(one)).read().id);
    expect(made.size).toBeGreaterThanOrEqual(5 * number);
    left = left.filter((_, at) => lines[at] === NEXT);
  }
  expect(made.size).toBe(40);
});
