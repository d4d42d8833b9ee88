// The worker's loop against the server as its user runs it: what an idle worker may leave out, and what plain HTTP must
// not do twice.

import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Outcome, Task } from "../../worker/calls/runtime.ts";
import { keepConnected } from "../../worker/connection.ts";
import { Loop } from "../../worker/loop.ts";
import { createEchoRuntime } from "../../worker/runtimes/echo.ts";
import { openHttpSession } from "../../worker/session/http-session.ts";
import type { Opened, Session, SessionHost } from "../../worker/session/session.ts";
import { openSocketSession } from "../../worker/session/socket-session.ts";
import { eventually } from "../support/eventually.ts";
import { send, succeed } from "../support/requests.ts";
import { type Tenant, tenantForTests } from "../support/shared-server.ts";
import { idleConfig, partsFor, quietProbe } from "./loop-fixture.ts";

const HEARTBEAT_SECONDS = 1;
const OFFLINE_AFTER_SECONDS = 2;

/** A claim waits at the object by then, or its end is known there. */
const BEGINS_WITHIN_MS = 500;

type Given = Record<string, unknown>;

let server: Tenant;
const stops: AbortController[] = [];

beforeAll(async () => {
  server = await tenantForTests();
  const presence = { heartbeat_interval_seconds: HEARTBEAT_SECONDS, offline_after_seconds: OFFLINE_AFTER_SECONDS };
  await ask("PUT", "/config", { presence });
}, 60_000);

afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort();
});

afterAll(async () => {
  await server?.close();
});

const ask = (method: string, route: string, body?: Given): Promise<Given> =>
  succeed({ url: server.url, key: server.adminKey }, method, route, body);

/** A worker that records its messages, and runs each job by answering with its prompt. */
function startWorker(instance: string, { concurrency = 1, overSocket = true } = {}) {
  const said: string[] = [];
  const runs: string[] = [];
  const stop = new AbortController();
  stops.push(stop);
  const run = async ({ prompt }: Task): Promise<Outcome> => {
    runs.push(prompt);
    return { ok: true, result: { text: prompt } };
  };
  const loop = new Loop({
    identity: { instance, provider: "echo", tags: instance, models: [], tier: null, concurrency, version: "1" },
    ...partsFor({ ...createEchoRuntime(), probe: quietProbe, run }),
    config: idleConfig,
    log: () => {},
    onRefused: () => {},
  });
  const line = { apiUrl: server.url, apiKey: server.adminKey, instance };
  const heard = async (opening: Promise<Opened>): Promise<Opened> => {
    const opened = await opening;
    return opened.ok ? { ...opened, session: noting(opened.session, said) } : opened;
  };
  const noSocket: Opened = { ok: false, kind: "no_socket", reason: "not wanted here" };
  void keepConnected({
    loop,
    log: () => {},
    stop: stop.signal,
    openSocket: async (host: SessionHost) => (overSocket ? heard(openSocketSession(line, host)) : noSocket),
    openHttp: (host: SessionHost) => heard(openHttpSession(line, host)),
  });
  return { said, runs };
}

function noting(session: Session, said: string[]): Session {
  return {
    kind: session.kind,
    ended: session.ended,
    slotsChanged: () => session.slotsChanged(),
    close: () => session.close(),
    send: (message) => {
      said.push(message.type);
      session.send(message);
    },
    ping: (answerWithinMs) => {
      said.push("ping");
      session.ping(answerWithinMs);
    },
  };
}

const isIdle = (instance: string) => async () =>
  expect(await ask("GET", `/api/workers/${instance}`)).toMatchObject({ status: "idle" });

const isDone = (id: unknown) => async () =>
  expect(await ask("GET", `/api/jobs/${String(id)}`)).toMatchObject({ status: "completed" });

test("a worker that only pings stays online, many times as long as silence is borne, and takes a job", async () => {
  const { said, runs } = startWorker("pinging");
  await eventually(isIdle("pinging"));
  await eventually(() => expect(said.slice(-2)).toEqual(["ping", "ping"]));
  const connecting = said.length;
  // Meanwhile nobody calls the coordinator, so only the pings keep the worker alive.
  const pings = Math.ceil((5 * OFFLINE_AFTER_SECONDS) / HEARTBEAT_SECONDS);
  await eventually(() => expect(said.length - connecting).toBeGreaterThan(pings));
  expect(new Set(said.slice(connecting))).toEqual(new Set(["ping"]));

  const before = Date.now();
  const worker = await ask("GET", "/api/workers/pinging");
  expect(worker).toMatchObject({ status: "idle", connected: true });
  expect(before - Date.parse(String(worker.last_heartbeat))).toBeLessThanOrEqual(OFFLINE_AFTER_SECONDS * 1000);
  expect(await ask("GET", "/presence")).toMatchObject({ workers: [{ instance: "pinging" }] });
  const { id } = await ask("POST", "/dispatch", { prompt: "at last", tags: ["pinging"] });
  await eventually(isDone(id));
  expect(runs).toEqual(["at last"]);
}, 60_000);

test("over plain HTTP every job runs once, though claims and presences name the same leases", async () => {
  const { said, runs } = startWorker("plain", { concurrency: 4, overSocket: false });
  await eventually(isIdle("plain"));
  const prompts = Array.from({ length: 60 }, (_, index) => `job ${index}`);
  const jobs = await Promise.all(prompts.map((prompt) => ask("POST", "/api/jobs", { prompt, tags: ["plain"] })));
  await Promise.all(jobs.map(({ id }) => eventually(isDone(id))));
  expect([...runs].sort()).toEqual([...prompts].sort());
  expect(said).toContain("presence");
}, 60_000);

test("a claim whose worker has gone takes no job from the worker's next claim", async () => {
  const worker = { instance: "restarted", provider: "other", status: "idle", tags: "restarted" };
  const leaving = new AbortController();
  const holder = { url: server.url, key: server.adminKey };
  const claim = (signal?: AbortSignal) =>
    send(holder, "POST", "/api/workers/restarted/claim?wait=25", {}, signal && { signal });
  await ask("POST", "/presence", worker);
  const left = claim(leaving.signal).catch(() => "left");
  await pause(BEGINS_WITHIN_MS);
  leaving.abort();
  expect(await left).toBe("left");
  await pause(BEGINS_WITHIN_MS);
  const next = claim();
  const { id } = await ask("POST", "/api/jobs", { prompt: "for the next", tags: ["restarted"] });
  expect((await next).body.jobs).toMatchObject([{ id }]);
}, 60_000);
