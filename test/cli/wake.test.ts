// `signalbox wake`: what it concludes from the live feed, and what it does, as a process beside a real server.

import { spawn } from "node:child_process";
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { WebSocketServer } from "ws";
import { UsageError } from "../../cli/failure.ts";
import { broadcastOf, macOf, packetFor } from "../../cli/magic-packet.ts";
import { environmentOf, Watch } from "../../cli/wake.ts";
import type { LiveMessage } from "../../contract/live.ts";
import { SIGNALBOX } from "../support/command-line.ts";
import { eventually } from "../support/eventually.ts";
import { send } from "../support/requests.ts";
import { tenantForTests } from "../support/shared-server.ts";
import { folderForAllTests } from "../support/temporary-folder.ts";
import { runCommand } from "./run-command.ts";

const START = Date.parse("2026-01-12T12:00:00Z");
const TERMS = { tags: ["gpu"], afterMs: 10_000, idleMs: 900_000 };

const group = (more: object = {}) => ({
  provider: null,
  model: "m1",
  tags: ["gpu"],
  api: null,
  excluded_providers: [],
  count: 2,
  oldest_at: new Date(START).toISOString(),
  waiting_since: new Date(START).toISOString(),
  reason: "no worker offers tag gpu",
  capacity: "no_worker",
  priority_max: "normal",
  ...more,
});
const waiting = (...groups: object[]): LiveMessage =>
  ({ type: "queue.updated", queue: { groups, groups_total: groups.length, total: 1, delayed: 0 } }) as LiveMessage;
const worker = (more: object): LiveMessage =>
  ({
    type: "worker.updated",
    worker: { instance: "w1", status: "idle", current_load: 0, tags: "gpu, big", ...more },
  }) as LiveMessage;

/** What is due at these seconds. */
const dueAt = (watch: Watch, ...seconds: number[]) => seconds.map((one) => watch.due(START + one * 1000));

describe("jobs that wait", () => {
  it("want a machine after their time, once for all groups, and again after five minutes", () => {
    const watch = new Watch(TERMS);
    const later = group({ model: "m2", waiting_since: new Date(START + 1_000).toISOString() });
    watch.take(waiting(later, group()), START);
    const data = { group: { provider: null, model: "m1", tags: ["gpu"], api: null }, waiting: 2, reason: "no_worker" };
    const wanted = (seconds: number) => [
      { event: "capacity.wanted", data: { ...data, oldest_seconds: seconds, priority_max: "normal" } },
    ];
    expect(dueAt(watch, 9, 12, 13, 311, 312)).toEqual([[], wanted(12), [], [], wanted(312)]);
    watch.take(waiting(), START);
    expect(dueAt(watch, 700)).toEqual([[]]);
    watch.take(waiting(group()), START);
    expect(dueAt(watch, 701)).toEqual([wanted(701)]);
  });

  it("have waited by the coordinator's clock, whatever that of this machine says", () => {
    const watch = new Watch(TERMS);
    const snapshot = {
      type: "snapshot",
      server_time: new Date(START).toISOString(),
      workers: [],
      queue: { groups: [] },
    };
    watch.take(snapshot as unknown as LiveMessage, 5_000);
    watch.take(waiting(group()), 6_000);
    expect([14_000, 15_000].map((at) => watch.due(at).length)).toEqual([0, 1]);
  });

  it.each([
    ["ask for no such tag", { tags: ["big"] }],
    ["have a worker that may take them, or are of a batch alone", { capacity: null }],
    ["wait for workers that are paused", { capacity: "all_paused" }],
  ])("wake nothing where they %s", (_, more) => {
    const watch = new Watch(TERMS);
    watch.take(waiting(group(more)), START);
    expect(dueAt(watch, 60)).toEqual([[]]);
  });
});

it("a worker is idle once after its time without work, and again after more work", () => {
  const watch = new Watch(TERMS);
  watch.take(worker({}), START);
  watch.take(worker({ instance: "w2", tags: "cpu" }), START);
  watch.take(worker({ instance: "w3", status: "offline" }), START);
  const idle = [{ event: "capacity.idle", data: { worker: "w1", idle_seconds: 900 } }];
  expect(dueAt(watch, 899, 900, 901)).toEqual([[], idle, []]);
  watch.take(worker({ status: "busy", current_load: 1 }), START + 902_000);
  watch.take(worker({}), START + 1_000_000);
  expect(dueAt(watch, 1899, 1900)).toEqual([[], idle]);
});

it("a command gets the event and no key", () => {
  const event = { event: "capacity.idle", data: { worker: "w1", idle_seconds: 900 } } as const;
  const keys = {
    SERVICE_API_KEY: "sb_secret",
    SERVICE_ROOT_KEY: "root",
    PROVIDER_OPENAI_KEY: "sk",
    VAULT_TOKEN: "hvs",
  };
  const env = { PATH: "/bin", ...keys, GONE: undefined };
  expect(environmentOf(event, env)).toEqual({
    PATH: "/bin",
    SIGNALBOX_EVENT: "capacity.idle",
    SIGNALBOX_DATA: '{"worker":"w1","idle_seconds":900}',
    SIGNALBOX_WORKER: "w1",
    SIGNALBOX_IDLE_SECONDS: "900",
  });
});

describe("the magic packet", () => {
  it("is six bytes of ones, and the address sixteen times", () => {
    const packet = packetFor(macOf("aa:bb:cc:dd:ee:0F"));
    expect(packet.toString("hex")).toBe("ff".repeat(6) + "aabbccddee0f".repeat(16));
    expect(macOf("AA-BB-CC-DD-EE-0F")).toEqual(macOf("aabbccddee0f"));
    expect([broadcastOf(), broadcastOf("10.0.0.255:7")]).toEqual([
      { address: "255.255.255.255", port: 9 },
      { address: "10.0.0.255", port: 7 },
    ]);
  });

  it.each(["aa:bb", "xx:bb:cc:dd:ee:ff", ""])("has no address %j", (text) => {
    expect(() => macOf(text)).toThrow(UsageError);
  });

  it.each(["lan", "1.2.3.4:x", "1.2.3.4:1:2", "1.2.3.4:0", "1.2.3.4:65536", "1.2.3.256"])(
    "goes to no network %j",
    (text) => {
      expect(() => broadcastOf(text)).toThrow(UsageError);
    },
  );
});

it("without anything to do it is refused", async () => {
  await expect(runCommand(["wake", "--tag", "gpu"], () => ({}))).rejects.toThrow("give --mac, --run or --idle");
});

const data = folderForAllTests();

const listening = async (): Promise<{ socket: Socket; port: number }> => {
  const socket = createSocket("udp4");
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return { socket, port: socket.address().port };
};

it("as a process it sends the packet and runs the command, with a viewer's key that the command does not get", async () => {
  const server = await tenantForTests();
  const api = async (method: string, route: string, body?: unknown) =>
    (await send({ url: server.url, key: server.adminKey }, method, route, body)).body;
  const { socket, port } = await listening();
  const { key } = await api("POST", "/api/keys", { name: "wake", role: "viewer" });
  const seen = path.join(data.path, "seen");
  const broadcast = `127.0.0.1:${port}`;
  const flags = ["--tag", "gpu", "--mac", "aa:bb:cc:dd:ee:ff", "--broadcast", broadcast, "--after", "0"];
  const child = spawn(
    process.execPath,
    [SIGNALBOX, "wake", ...flags, "--run", `env > ${seen}.part && mv ${seen}.part ${seen}`],
    {
      env: { PATH: process.env.PATH, SERVICE_API_URL: server.url, SERVICE_API_KEY: key },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  try {
    const packet = once(socket, "message");
    const [said] = (await once(child.stderr, "data")) as [Buffer];
    expect(String(said)).toBe(`Watches ${server.url}.\n`);
    await api("POST", "/api/jobs", { prompt: "x", tags: ["cpu"] });
    await api("POST", "/api/jobs", { prompt: "x", tags: ["gpu"], model: "m1" });
    const [bytes] = (await packet) as [Buffer];
    expect(bytes).toEqual(packetFor(macOf("aabbccddeeff")));
    await eventually(() => expect(existsSync(seen)).toBe(true));
    const env = readFileSync(seen, "utf8");
    expect(env).toContain("SIGNALBOX_EVENT=capacity.wanted");
    expect(env).toContain("SIGNALBOX_MODEL=m1");
    expect(env).toContain("SIGNALBOX_REASON=no_worker");
    expect(env).not.toContain("SERVICE_");
    expect(env).not.toContain(key);
  } finally {
    child.kill("SIGKILL");
    socket.close();
    await server.close();
  }
}, 90_000);

it("as a process it waits as long as the config says", async () => {
  const server = await tenantForTests();
  const access = { url: server.url, key: server.adminKey };
  const seen = path.join(data.path, "config-event");
  const note = `echo $SIGNALBOX_EVENT >> ${seen}`;
  await send(access, "PUT", "/config", { capacity: { after_seconds: 1, idle_seconds: 2 } });
  const child = spawn(process.execPath, [SIGNALBOX, "wake", "--tag", "gpu", "--run", note, "--idle", note], {
    env: { PATH: process.env.PATH, SERVICE_API_URL: server.url, SERVICE_API_KEY: server.adminKey },
    stdio: ["ignore", "ignore", "pipe"],
  });
  try {
    await once(child.stderr, "data");
    await send(access, "POST", "/api/jobs", { prompt: "x", tags: ["gpu"], model: "m1" });
    await send(access, "POST", "/presence", { instance: "idle", provider: "p", models: ["m2"], tags: "gpu" });
    await eventually(() =>
      expect(readFileSync(seen, "utf8").split("\n").sort()).toEqual(["", "capacity.idle", "capacity.wanted"]),
    );
  } finally {
    child.kill("SIGKILL");
    await server.close();
  }
}, 90_000);

it("as a process it goes on after a frame that is not the feed's", async () => {
  const feed = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  feed.on("connection", (socket) => socket.send("<html>"));
  await once(feed, "listening");
  const url = `http://127.0.0.1:${(feed.address() as AddressInfo).port}`;
  const child = spawn(process.execPath, [SIGNALBOX, "wake", "--run", "true"], {
    env: { PATH: process.env.PATH, SERVICE_API_URL: url, SERVICE_API_KEY: "sb_1" },
  });
  let said = "";
  child.stderr.on("data", (chunk) => {
    said += chunk;
  });
  try {
    const again = `${url} does not answer as Signalbox does: connecting again\n`;
    await eventually(() => expect(said).toBe(`Watches ${url}.\n${again}`.repeat(2)));
  } finally {
    child.kill("SIGKILL");
    feed.close();
  }
}, 30_000);
