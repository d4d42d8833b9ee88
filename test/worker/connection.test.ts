import { once } from "node:events";
import { createServer } from "node:http";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { jsonExcess } from "../../contract/words/json-bounds.ts";
import { closeCodes, type Json } from "../../contract/words/values.ts";
import { keepConnected } from "../../worker/connection.ts";
import { Loop } from "../../worker/loop.ts";
import { createEchoRuntime } from "../../worker/runtimes/echo.ts";
import { openHttpSession } from "../../worker/session/http-session.ts";
import type { Opened, Session } from "../../worker/session/session.ts";
import { frames, openSocketSession } from "../../worker/session/socket-session.ts";
import { eventually } from "../support/eventually.ts";
import { FakeCoordinator, KEY } from "./fake-coordinator.ts";
import { assignedJob } from "./job-fixture.ts";
import { idleConfig, partsFor, quietProbe } from "./loop-fixture.ts";

let coordinator: FakeCoordinator;
const stops: AbortController[] = [];

beforeEach(async () => {
  coordinator = new FakeCoordinator();
  await coordinator.start();
});
afterEach(async () => {
  for (const stop of stops.splice(0)) stop.abort();
  await coordinator.stop();
});

function connectWorker({ concurrency = 1, apiKey = KEY, instance = "w1" } = {}) {
  const stop = new AbortController();
  stops.push(stop);
  const lines: string[] = [];
  const log = (line: string) => void lines.push(line);
  const line = { apiUrl: coordinator.url, apiKey, instance, random: () => 0, handshakeWithinMs: 500 };
  const loop = new Loop({
    identity: { instance, provider: "echo", tags: "", models: [], tier: null, concurrency, version: "1" },
    ...partsFor({ ...createEchoRuntime(), probe: quietProbe }),
    config: idleConfig,
    log,
    onRefused: () => {},
  });
  const ended = keepConnected({
    loop,
    log,
    stop: stop.signal,
    random: () => 0,
    openSocket: (host) => openSocketSession(line, host),
    openHttp: (host) => openHttpSession(line, host),
  });
  return { loop, stop, ended, lines };
}

describe.each([
  ["the WebSocket", true],
  ["plain HTTP, where no WebSocket can be had", false],
])("over %s", (_name, isOverSocket) => {
  beforeEach(() => {
    coordinator.allowsSocket = isOverSocket;
  });

  test("a worker makes itself known, takes a job and reports its result", async () => {
    connectWorker();
    const presence = await coordinator.waitFor("presence");
    expect(presence).toMatchObject({ instance: "w1", jobs: [] });
    coordinator.assign(assignedJob({ id: "a", prompt: "hello there" }));
    const completed = await coordinator.waitFor("job.completed");
    expect(completed).toMatchObject({
      job_id: "a",
      lease: 1,
      result: { text: "hello there" },
      usage: { output_tokens: 2 },
    });
    const types = coordinator.received.map(({ type }) => type);
    expect(types.slice(0, 2)).toEqual(["presence", isOverSocket ? "job.started" : "job.completed"]);
  });

  test("a failed job is reported with its error", async () => {
    connectWorker();
    await coordinator.waitFor("presence");
    const fail = { code: "rate_limited", message: "slow down", status: 429, retryable: true, retry_after_seconds: 3 };
    coordinator.assign(assignedJob({ id: "a", input: { fail } }));
    expect(await coordinator.waitFor("job.failed")).toMatchObject({ job_id: "a", error: fail });
  });

  test("a stopped worker hangs up", async () => {
    const { stop, ended } = connectWorker();
    await coordinator.waitFor("presence");
    stop.abort();
    expect(await ended).toBeNull();
    await coordinator.until(() => coordinator.socketCount === 0);
  });

  test("a key that is refused ends the worker with what to change, and no second try", async () => {
    const { ended } = connectWorker({ apiKey: "wrong" });
    const reason = await ended;
    expect(reason).toMatch(/refused the key: set SERVICE_API_KEY to a valid key/);
    expect(reason).not.toContain("wrong");
    expect(coordinator.received).toEqual([]);
  });

  test("a result that was ready while the coordinator was away is told when it is back, under the same lease", async () => {
    const { loop } = connectWorker();
    await coordinator.waitFor("presence");
    coordinator.judge = (message) => (message.type === "job.completed" ? "silence" : "ack");
    coordinator.assign(assignedJob({ id: "a", lease: 7, prompt: "kept" }));
    await coordinator.waitFor("job.completed");
    await coordinator.stop();
    coordinator.received.splice(0);
    coordinator.judge = () => "ack";
    await coordinator.start();
    expect(await coordinator.waitFor("presence")).toMatchObject({ jobs: ["a"] });
    expect(await coordinator.waitFor("job.completed")).toMatchObject({
      job_id: "a",
      lease: 7,
      result: { text: "kept" },
    });
    await eventually(() => expect(loop.heldJobIds).toEqual([]));
  });

  test.each([200, 302, 403])(
    "a login page of the network (HTTP %i), there for a while, ends no worker",
    async (status) => {
      connectWorker();
      await coordinator.waitFor("presence");
      await coordinator.stop();
      coordinator.received.splice(0);
      let count = 0;
      const gate = createServer((_request, response) => {
        count += 1;
        response.writeHead(status, { "content-type": "text/html", location: "http://login.example/" }).end("<html>");
      });
      gate.listen(Number(new URL(coordinator.url).port), "127.0.0.1");
      await eventually(() => expect(count).toBeGreaterThan(3));
      const closed = once(gate.close(), "close");
      gate.closeAllConnections();
      await closed;
      await coordinator.start();
      await coordinator.waitFor("presence");
    },
  );
});

describe("plain HTTP", () => {
  test("lets no report overtake the presence before it, which would name the job as not worked on", async () => {
    coordinator.allowsSocket = false;
    const { loop } = connectWorker();
    await coordinator.waitFor("presence");
    const release = coordinator.holdBack("/presence");
    void loop.drain(0);
    loop.receive({ type: "job.assigned", job: assignedJob({ id: "late" }) });
    await coordinator.until(() => coordinator.requests.filter((path) => path === "/presence").length === 2);
    expect(coordinator.requests.some((path) => path.endsWith("/release"))).toBe(false);
    release();
    await coordinator.waitFor("job.released");
  });

  test.each([
    ["cut off", "cut"],
    ["lost in a gateway", 502],
  ] as const)("a claim whose answer is %s loses no job: its lease comes again, and runs once", async (_how, fate) => {
    coordinator.allowsSocket = false;
    coordinator.heartbeatSeconds = 0.2;
    connectWorker({ concurrency: 2 });
    const isClaim = (path: string) => path.endsWith("/claim");
    await coordinator.until(() => coordinator.requests.some(isClaim));
    let lostCount = 0;
    coordinator.disturb = (path) => {
      if (!isClaim(path) || lostCount > 0) return null;
      lostCount += 1;
      return fate;
    };
    const job = assignedJob({ id: "a", prompt: "once" });
    coordinator.assign(job);
    await coordinator.waitFor("job.completed", ({ job_id }) => job_id === "a");
    expect(lostCount).toBe(1);
    coordinator.handOut(job);
    coordinator.assign(assignedJob({ id: "b" }));
    await coordinator.waitFor("job.completed", ({ job_id }) => job_id === "b");
    const completed = coordinator.received.filter((one) => one.type === "job.completed").map(({ job_id }) => job_id);
    expect(completed).toEqual(["a", "b"]);
  });

  test("a lease that presences and claims bring again while its start is being told runs once", async () => {
    coordinator.allowsSocket = false;
    coordinator.heartbeatSeconds = 0.2;
    connectWorker({ concurrency: 2 });
    await coordinator.waitFor("presence");
    const release = coordinator.holdBack("/api/jobs/a/start");
    const job = assignedJob({ id: "a", input: { delay_ms: 800 } });
    coordinator.assign(job);
    await coordinator.until(() => coordinator.requests.includes("/api/jobs/a/start"));
    const presences = coordinator.received.length;
    await coordinator.until(() => coordinator.received.length >= presences + 2);
    coordinator.handOut(job);
    release();
    await coordinator.waitFor("job.completed");
    coordinator.assign(assignedJob({ id: "b" }));
    await coordinator.waitFor("job.completed", ({ job_id }) => job_id === "b");
    expect(coordinator.requests.filter((path) => path === "/api/jobs/a/start").length).toBe(1);
  });
});

describe("the WebSocket", () => {
  test("of an idle worker carries pings, and no presence between them", async () => {
    // Not so often that a busy machine makes a beat late, which a presence follows.
    coordinator.heartbeatSeconds = 1;
    connectWorker();
    await coordinator.until(() => coordinator.requests.filter((one) => one === "ping").length >= 4);
    expect(coordinator.received.map(({ type }) => type)).toEqual(["presence"]);
    expect(coordinator.socketCount).toBe(1);
  });

  test("on which nothing answers a ping is dead: another one is opened", async () => {
    coordinator.heartbeatSeconds = 0.1;
    coordinator.answersPings = false;
    const { lines } = connectWorker();
    const told = "not connected: the connection is dead: a ping was not answered; trying again";
    await coordinator.until(() => lines.includes(told));
    const before = coordinator.received.length;
    await coordinator.until(() => coordinator.received.slice(before).some(({ type }) => type === "presence"));
  });

  test("carries the messages of one moment in one frame, and understands such frames", async () => {
    connectWorker({ concurrency: 3 });
    await coordinator.waitFor("presence");
    const jobs = ["a", "b", "c"].map((id) => ({ type: "job.assigned" as const, job: assignedJob({ id }) }));
    coordinator.say(...jobs);
    await coordinator.waitFor("job.completed", ({ job_id }) => job_id === "c");
    expect(Math.max(...coordinator.frameSizes)).toBeGreaterThanOrEqual(3);
  });

  test("is tried again after a restart of the coordinator", async () => {
    connectWorker();
    await coordinator.waitFor("presence");
    await coordinator.stop();
    await coordinator.start();
    coordinator.received.splice(0);
    await coordinator.until(() => coordinator.socketCount === 1);
    await coordinator.waitFor("presence");
  });

  test("whose key was revoked ends the worker", async () => {
    const { ended } = connectWorker();
    await coordinator.waitFor("presence");
    coordinator.closeSockets(closeCodes.keyEnded, "the key was rotated");
    expect(await ended).toMatch(/refused the key.*\(the key was rotated\)/);
  });

  test("that another process took over ends the worker, so that the two do not replace each other for ever", async () => {
    const { ended } = connectWorker();
    await coordinator.waitFor("presence");
    coordinator.closeSockets(closeCodes.replaced, "");
    expect(await ended).toMatch(/another worker process connected as "w1": give each process its own --instance/);
  });

  test("a message that this worker does not know is passed over", async () => {
    connectWorker();
    await coordinator.waitFor("presence");
    coordinator.say({ type: "job.praised" } as never, { type: "job.assigned", job: assignedJob({ id: "a" }) });
    await coordinator.waitFor("job.completed");
  });

  test("a frame keeps to the contract's bounds", () => {
    const heartbeat = (id: number) => ({ type: "job.heartbeat" as const, id: String(id), job_id: "a", lease: 1 });
    const many = frames(Array.from({ length: 1500 }, (_, id) => heartbeat(id))).map(
      (frame) => JSON.parse(frame).length,
    );
    expect(many).toEqual([1000, 500]);
    const completed = (result: Json) => ({ type: "job.completed" as const, id: "1", job_id: "a", lease: 1, result });
    const large = completed("x".repeat(1024 * 1024 - 100));
    expect(frames([large, large, large, large, large]).length).toBe(5);
    const numbers = completed(Array(100_000).fill(1));
    for (const frame of frames([numbers, numbers, numbers, numbers])) expect(jsonExcess(frame)).toBeNull();
    expect(frames([heartbeat(1)])).toEqual([JSON.stringify(heartbeat(1))]);
  });
});

describe("a worker on plain HTTP", () => {
  beforeEach(() => {
    coordinator.allowsSocket = false;
  });

  test("takes one call a job while there are more: the answer to a result brings the next lease", async () => {
    connectWorker();
    await coordinator.waitFor("presence");
    await coordinator.until(() => coordinator.requests.some((path) => path.endsWith("/claim")));
    // The first comes with the waiting claim, the others when a result asks for more.
    for (const id of ["a", "b", "c", "d"]) coordinator.assign(assignedJob({ id, prompt: id }));
    for (const id of ["a", "b", "c", "d"]) await coordinator.waitFor("job.completed", ({ job_id }) => job_id === id);
    const paths = coordinator.requests.slice(coordinator.requests.findIndex((path) => path.endsWith("/claim")));
    expect(paths.filter((path) => path.startsWith("/api/jobs/"))).toEqual(
      ["a", "b", "c", "d"].map((id) => `/api/jobs/${id}/complete`),
    );
    expect(paths.slice(0, 5).filter((path) => path.endsWith("/claim")).length).toBe(1);
  });

  test("tells the start of a job that takes longer", async () => {
    connectWorker();
    await coordinator.waitFor("presence");
    coordinator.assign(assignedJob({ id: "a", prompt: "slow", input: { delay_ms: 800 } }));
    await coordinator.waitFor("job.completed");
    expect(coordinator.received.map(({ type }) => type).filter((type) => type !== "presence")).toContain("job.started");
  });
});

describe.each(["cuts", "swallows", "mutes", "deafens"] as const)("a firewall that %s WebSockets", (firewall) => {
  test("leaves a worker plain HTTP, after a second try", async () => {
    coordinator.firewall = firewall;
    coordinator.heartbeatSeconds = 0.5;
    const { lines } = connectWorker();
    await coordinator.waitFor("presence");
    coordinator.assign(assignedJob({ id: "a" }));
    await coordinator.waitFor("job.completed");
    expect(lines).toContain("connected over HTTP");
  });
});

test("a coordinator that stood still is worked for over a WebSocket as before", async () => {
  coordinator.firewall = "swallows";
  const goOn = coordinator.holdBack("/health");
  const { lines } = connectWorker();
  await coordinator.until(() => coordinator.requests.includes("/health"));
  coordinator.firewall = null;
  goOn();
  await coordinator.waitFor("presence");
  expect(lines).toEqual([expect.stringContaining("no WebSocket"), "connected over WebSocket"]);
});

test("an address where something else listens is told as such", async () => {
  coordinator.upgradeStatus = 404;
  coordinator.allowsSocket = false;
  coordinator.health = { status: 200, body: "<html>Welcome to nginx!</html>" };
  const { ended } = connectWorker();
  expect(await ended).toMatch(/SERVICE_API_URL .* is not a Signalbox coordinator: GET \/health answered HTTP 200/);
});

test("a worker whose tenant has moved ends, and says so", async () => {
  coordinator.upgradeStatus = 410;
  coordinator.allowsSocket = false;
  const { ended } = connectWorker();
  expect(await ended).toBe("set SERVICE_API_URL to the new address (no socket here)");
});

test("a worker whose name another one still has waits for it, and then works over a WebSocket", async () => {
  coordinator.upgradeStatus = 409;
  coordinator.allowsSocket = false;
  const { lines } = connectWorker();
  await eventually(() => expect(lines).toEqual(["not connected: no socket here; trying again"]));
  coordinator.allowsSocket = true;
  await eventually(() => expect(lines.at(-1)).toBe("connected over WebSocket"));
});

test("an address where nothing listens is told with its name", async () => {
  await coordinator.stop();
  const { lines, stop } = connectWorker();
  await eventually(() => expect(lines.join("\n")).toMatch(/nothing answers at http:.*SERVICE_API_URL.*ECONNREFUSED/));
  stop.abort();
  await coordinator.start();
});

test("a connection that opens after the worker was stopped is closed", async () => {
  const stop = new AbortController();
  const opening = Promise.withResolvers<Opened>();
  const attach = vi.fn();
  const ended = keepConnected({
    loop: { attach, detach: () => {}, receive: () => {}, freeSlots: () => 0 },
    log: () => {},
    stop: stop.signal,
    openSocket: () => opening.promise,
    openHttp: () => opening.promise,
  });
  stop.abort();
  expect(await ended).toBe(null);
  const close = vi.fn();
  opening.resolve({ ok: true, session: { close } as unknown as Session });
  await expect.poll(() => close).toHaveBeenCalledOnce();
  expect(attach).not.toHaveBeenCalled();
});
