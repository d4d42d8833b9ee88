// Reports over HTTP: which are sent, and in which order.

import { afterEach, expect, test } from "vitest";
import type { PresenceAnswer } from "../../../contract/fleet/worker.ts";
import { openHttpSession } from "../../../worker/session/http-session.ts";
import type { CoordinatorMessage, Session } from "../../../worker/session/session.ts";
import { openSocketSession } from "../../../worker/session/socket-session.ts";
import { FakeCoordinator, KEY, problem } from "../fake-coordinator.ts";

let coordinator: FakeCoordinator;
let session: Session;
const heard: CoordinatorMessage[] = [];

const open = async (): Promise<void> => {
  coordinator = new FakeCoordinator();
  await coordinator.start();
  heard.length = 0;
  const line = { apiUrl: coordinator.url, apiKey: KEY, instance: "w1" };
  const opened = await openHttpSession(line, { receive: (message) => heard.push(message), freeSlots: () => 0 });
  if (!opened.ok) throw new Error(opened.reason);
  session = opened.session;
};

afterEach(async () => {
  session.close();
  await coordinator.stop();
});

const isOf = (type: string, lease: number) => (message: { type: string; lease?: number }) =>
  message.type === type && message.lease === lease;

test("the start of a job's next lease is told, although that of the one before is still held back", async () => {
  await open();
  session.send({ type: "job.started", id: "1", job_id: "a", lease: 1 });
  session.send({ type: "job.started", id: "2", job_id: "a", lease: 2 });
  await coordinator.until(() => coordinator.received.some(isOf("job.started", 2)));
  expect(coordinator.received.map((message) => "lease" in message && message.lease)).toEqual([1, 2]);
});

test("a start that is waited for is told at once, and answered by then", async () => {
  await open();
  const release = coordinator.holdBack("/api/jobs/a/start");
  session.send({ type: "job.started", id: "told", job_id: "a", lease: 1 });
  const told = session.startTold?.("a");
  await coordinator.until(() => coordinator.requests.includes("/api/jobs/a/start"));
  const answer = { type: "ack", id: "told", ok: true };
  expect(heard).not.toContainEqual(answer);
  release();
  await told;
  expect(heard).toContainEqual(answer);
  expect(await session.startTold?.("b")).toBe(undefined);
});

test("a result that comes while its start is held back stands for it", async () => {
  await open();
  session.send({ type: "job.started", id: "1", job_id: "a", lease: 1 });
  session.send({ type: "job.completed", id: "2", job_id: "a", lease: 1, result: "soon" });
  await expect.poll(() => heard.map((message) => "id" in message && message.id)).toEqual(["1", "2"]);
  expect(coordinator.received.map(({ type }) => type)).toEqual(["job.completed"]);
});

test("the result of an earlier lease does not stand for the start of the next one", async () => {
  await open();
  session.send({ type: "job.started", id: "2", job_id: "a", lease: 2 });
  session.send({ type: "job.completed", id: "1", job_id: "a", lease: 1, result: "late" });
  await coordinator.until(() => coordinator.received.some(isOf("job.started", 2)));
  expect(coordinator.received.map(({ type }) => type)).toEqual(["job.completed", "job.started"]);
});

test("what is under way when the session closes is answered first", async () => {
  await open();
  const release = coordinator.holdBack("/api/jobs/a/complete");
  session.send({ type: "job.completed", id: "1", job_id: "a", lease: 1, result: "done" });
  await coordinator.until(() => coordinator.requests.includes("/api/jobs/a/complete"));
  session.close();
  release();
  await session.ended;
  expect(heard).toContainEqual({ type: "ack", id: "1", ok: true });
});

test("a report that is not for this worker any more ends no session", async () => {
  await open();
  coordinator.judge = ({ type }) => (type === "presence" ? "ack" : problem(403, "forbidden"));
  session.send({ type: "job.completed", id: "1", job_id: "a", lease: 1, result: "done" });
  session.send({ type: "job.released", id: "2", job_id: "b", lease: 1, reason: "restarting" });
  const isRefused = (of: string) => heard.some((one) => one.type === "ack" && one.id === of && !one.ok);
  await coordinator.until(() => coordinator.received.length === 2);
  session.send({ type: "presence", id: "3", instance: "w1", provider: "p" });
  await expect.poll(() => heard.some((one) => one.type === "ack" && one.id === "3" && one.ok)).toBe(true);
  expect([isRefused("1"), isRefused("2")]).toEqual([true, true]);
});

test("a claim goes out again as soon as a result has been answered without a next job", async () => {
  await open();
  let free = 0;
  const line = { apiUrl: coordinator.url, apiKey: KEY, instance: "w2" };
  const opened = await openHttpSession(line, { receive: () => {}, freeSlots: () => free });
  if (!opened.ok) throw new Error(opened.reason);
  const { session: claiming } = opened;
  claiming.send({ type: "presence", id: "1", instance: "w2", provider: "p" });
  await coordinator.until(() => coordinator.received.length === 1);
  const release = coordinator.holdBack("/api/jobs/a/complete");
  claiming.send({ type: "job.completed", id: "2", job_id: "a", lease: 1, result: "done" });
  await coordinator.until(() => coordinator.requests.includes("/api/jobs/a/complete"));
  free = 1;
  claiming.slotsChanged();
  expect(coordinator.requests).not.toContain("/api/workers/w2/claim");
  release();
  await coordinator.until(() => coordinator.requests.includes("/api/workers/w2/claim"));
  claiming.close();
});

test("an older coordinator, which says less of the worker, is understood over HTTP and over a socket", async () => {
  await open();
  const ofAnOlder = { instance: "w1", paused: false } as PresenceAnswer["worker"];
  coordinator.facts = { worker: ofAnOlder };
  const line = { apiUrl: coordinator.url, apiKey: KEY, instance: "w1" };
  const opened = await openSocketSession(line, { receive: (message) => heard.push(message), freeSlots: () => 0 });
  if (!opened.ok) throw new Error(opened.reason);
  for (const [id, by] of Object.entries({ http: session, socket: opened.session })) {
    by.send({ type: "presence", id, instance: "w1", provider: "p" });
    await expect.poll(() => heard).toContainEqual(expect.objectContaining({ type: "ack", id, ok: true }));
  }
  opened.session.close();
});
