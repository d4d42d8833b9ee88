// What one hostile key can send, over and over, as fast as the server lets it. Each attack runs in a thread of its own
// until it is stopped, and counts how its requests, frames and sockets ended.

import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import WebSocket from "ws";
import { PART_SEPARATOR, writePart } from "../../contract/data-line.ts";
import { Connection } from "../connection.ts";

export interface Target {
  readonly port: number;
  readonly authorization: string;
}

export type Count = (outcome: string) => void;

interface Attack {
  /** The role of the key that attacks. */
  readonly role: "client" | "worker" | "standard";
  readonly clients: number;
  /** One client's attack; repeated when it ends or throws. */
  readonly run: (target: Target, count: Count) => Promise<void>;
}

const REOPEN_AFTER_MS = 20;
const KIB = 1024;
const BODY_BYTES = 32 * KIB * KIB;
/** Together below the bound of one worker, so that each report is well formed. */
const OFFERED_NAMES = 900;
const OFFERED_NAME_CHARS = 60;
const WORKER_NAMES = 20_000;
const INVENTED_PARTS_A_FRAME = 100;
const INVENTED_PART_CHARS = 16 * KIB;
/** Frames that wait in the attacker's own memory. */
const MAX_UNSENT_BYTES = 16 * KIB * KIB;
const LINES_A_CLIENT = 500;
const READERS_A_CLIENT = 125;
const TAGS_A_JOB = 32;
const JOBS_A_BATCH = 100;
const STREAMED_CHARS = 900 * KIB;
/** A client's text frame of one character: two bytes of header, a mask of zeros, the character. */
const TINY_FRAME = Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0x78]);
const TINY_FRAMES_A_WRITE = 8 * KIB;

/** Of a body, or of a frame, that is just taken. */
const TAKEN_VALUES = 300_000;
const TAKEN_ROWS = 26_000;
const TAKEN_TEXTS = 130_000;
const FRAME_ROWS = 16_000;
const FRAME_WORDS = 32_000;
const OWN_TAGS = 1_000;
const UNFINISHED_BYTES = 1_000_000;
const SOCKETS_A_CLIENT = 250;

let serial = 0;
const unique = (): string => `u${(serial++).toString(36)}-${process.pid.toString(36)}`;

const crowdedBody = (): string => {
  const head = '{"model":"m","messages":[';
  return `${head}${"{},".repeat(Math.floor((BODY_BYTES - head.length - 4) / 3))}{}]}`;
};

const postCrowded = async ({ port, authorization }: Target, count: Count): Promise<void> => {
  const body = crowdedBody();
  for (;;) {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.on("error", () => {});
    await once(socket, "connect");
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: bench\r\nauthorization: ${authorization}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
    );
    const [answer] = (await Promise.race([once(socket, "data"), once(socket, "close")])) as [unknown];
    count(answer instanceof Uint8Array ? Buffer.from(answer).toString("latin1", 9, 12) : "cut off");
    socket.destroy();
  }
};

const listOf = (length: number, one: (index: number) => unknown): unknown[] =>
  Array.from({ length }, (_, index) => one(index));
const rowOf = (id: number): unknown => ({ id, name: "Robert", at: 12, isKnown: true });

/** As many values as a body may have, of one kind after another. */
const postFull = async ({ port, authorization }: Target, count: Count): Promise<void> => {
  const connection = await Connection.open(port, authorization);
  const kinds = [
    listOf(TAKEN_VALUES, () => Math.random()),
    listOf(TAKEN_ROWS, rowOf),
    listOf(TAKEN_TEXTS, (index) => `${unique()}-${index}-longer`),
  ];
  for (const tools of kinds) {
    const body = { model: "m", messages: [{ role: "user", content: "x" }], tools: [{ tools }] };
    count(String((await connection.request("POST", "/v1/chat/completions", body)).status));
  }
  connection.close();
};

const report = (result: unknown): unknown => ({
  type: "job.completed",
  id: unique(),
  job_id: crypto.randomUUID(),
  lease: 1,
  result,
});
const SAID: readonly (() => unknown)[] = [
  () => report(listOf(FRAME_ROWS, rowOf)),
  () => report(listOf(FRAME_WORDS, (index) => `w${index.toString(36)}`)),
  () => ({ type: "presence", id: unique(), provider: "hostile", status: "idle", tags: listOf(OWN_TAGS, unique) }),
];

/** A worker that reports on jobs that it was not given, and changes all that it offers, as fast as it is read. */
const sayMuch = async ({ port, authorization }: Target, count: Count): Promise<void> => {
  const url = `ws://127.0.0.1:${port}/api/workers/${unique()}/connect`;
  const socket = new WebSocket(url, { headers: { authorization }, perMessageDeflate: false });
  socket.on("error", () => {});
  const closed = once(socket, "close");
  await Promise.race([once(socket, "open"), closed]);
  for (let said = 0; socket.readyState === WebSocket.OPEN; said += 1) {
    socket.send(JSON.stringify(SAID[said % SAID.length]?.()));
    count("frame");
    do await pause(1);
    while (socket.bufferedAmount > MAX_UNSENT_BYTES / 8 && socket.readyState === WebSocket.OPEN);
  }
  count(`socket closed ${(await closed)[0]}`);
};

/** Each leaves a message unfinished. */
const leaveUnfinished = async ({ port, authorization }: Target, count: Count): Promise<void> => {
  const head = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  head.writeUInt32BE(UNFINISHED_BYTES + 1, 6);
  for (let opened = 0; opened < SOCKETS_A_CLIENT; opened += 1) {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.on("error", () => {});
    socket.once("close", () => count("closed"));
    socket.write(upgradeOf(`/api/workers/${unique()}/connect`, authorization));
    await Promise.race([once(socket, "data"), once(socket, "close")]);
    count("begun");
    socket.resume();
    socket.write(Buffer.concat([head, Buffer.alloc(UNFINISHED_BYTES, 0x20)]));
  }
  await new Promise(() => {});
};

const upgradeOf = (path: string, authorization: string): string =>
  `GET ${path} HTTP/1.1\r\nhost: bench\r\nauthorization: ${authorization}\r\nconnection: upgrade\r\n` +
  "upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";

const offerMuch = async ({ port, authorization }: Target, count: Count): Promise<void> => {
  const connection = await Connection.open(port, authorization);
  for (let name = 0; name < WORKER_NAMES; name += 1) {
    const names = Array.from({ length: OFFERED_NAMES / 2 }, () => unique().padEnd(OFFERED_NAME_CHARS, "x"));
    const presence = {
      instance: unique(),
      provider: "hostile",
      status: "idle",
      models: names,
      runtime_models: names.map((one) => `r${one.slice(1)}`),
      apis: ["chat/completions"],
    };
    count(String((await connection.request("POST", "/presence", presence)).status));
  }
  connection.close();
};

const inventJobs = async ({ port, authorization }: Target, count: Count): Promise<void> => {
  const instance = unique();
  const connection = await Connection.open(port, authorization);
  await connection.request("POST", "/presence", { instance, provider: "hostile", status: "idle" });
  connection.close();
  const line = new WebSocket(`ws://127.0.0.1:${port}/api/workers/${instance}/stream`, {
    headers: { authorization },
    perMessageDeflate: false,
  });
  line.on("error", () => {});
  const closed = new Promise<string>((resolve) => {
    line.once("close", (code) => resolve(`line closed ${code}`));
  });
  await Promise.race([once(line, "open"), closed]);
  const events = `data: ${"x".repeat(INVENTED_PART_CHARS)}\n\n`;
  while (line.readyState === WebSocket.OPEN) {
    const parts = Array.from({ length: INVENTED_PARTS_A_FRAME }, () =>
      writePart({ kind: "events", jobId: unique(), lease: 1, events }),
    );
    line.send(parts.join(PART_SEPARATOR));
    count("frame");
    do await pause(1);
    while (line.bufferedAmount > MAX_UNSENT_BYTES && line.readyState === WebSocket.OPEN);
  }
  count(await closed);
};

/** As fast as they are taken. */
const sendTinyFrames = async ({ port, authorization }: Target, count: Count): Promise<void> => {
  const instance = unique();
  const connection = await Connection.open(port, authorization);
  await connection.request("POST", "/presence", { instance, provider: "hostile", status: "idle" });
  connection.close();
  const line = connect({ port, host: "127.0.0.1" });
  const closed = once(line, "close").catch(() => undefined);
  line.write(upgradeOf(`/api/workers/${instance}/stream`, authorization));
  const [head] = (await Promise.race([once(line, "data"), closed])) as [Buffer | undefined];
  count(`line ${head?.toString("latin1", 9, 12) ?? "refused"}`);
  line.resume();
  const frames = Buffer.concat(Array.from({ length: TINY_FRAMES_A_WRITE }, () => TINY_FRAME));
  while (!line.destroyed) {
    const isTaken = line.write(frames);
    count(`${TINY_FRAMES_A_WRITE} frames`);
    if (isTaken) await pause(1);
    else await Promise.race([once(line, "drain"), closed]);
  }
};

/** They are held open. */
const openLines = async ({ port, authorization }: Target, count: Count): Promise<void> => {
  const connection = await Connection.open(port, authorization);
  for (let opened = 0; opened < LINES_A_CLIENT; opened += 1) {
    const instance = unique();
    await connection.call("POST", "/presence", { instance, provider: "hostile", status: "idle" });
    const line = new WebSocket(`ws://127.0.0.1:${port}/api/workers/${instance}/stream`, { headers: { authorization } });
    line.on("error", () => {});
    line.once("close", (code) => count(`line closed ${code}`));
    await Promise.race([once(line, "open"), once(line, "close")]);
    count(`line ${line.readyState === WebSocket.OPEN ? "open" : "refused"}`);
  }
  await new Promise(() => {});
};

/** A worker of its own streams to a job of its own; the readers never read. */
const readNothing = async (target: Target, count: Count): Promise<void> => {
  const { port, authorization } = target;
  const connection = await Connection.open(port, authorization);
  const instance = unique();
  await connection.call("POST", "/presence", { instance, provider: instance, status: "idle" });
  const job = { prompt: "stream", provider: instance, stream: true };
  const made = (await connection.call("POST", "/dispatch", job)) as { id: string; lease: number };
  const line = new WebSocket(`ws://127.0.0.1:${port}/api/workers/${instance}/stream`, { headers: { authorization } });
  line.on("error", () => {});
  await once(line, "open");
  const readers = Array.from({ length: READERS_A_CLIENT }, () => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.once("data", (head: Buffer) => {
      count(head.toString("latin1", 9, 12));
      socket.pause();
    });
    socket.on("error", () => {});
    socket.write(`GET /api/jobs/${made.id}/stream HTTP/1.1\r\nhost: bench\r\nauthorization: ${authorization}\r\n\r\n`);
    return socket;
  });
  const text = `data: ${JSON.stringify({ text: "x".repeat(STREAMED_CHARS) })}\n\n`;
  for (let sent = 0; sent < 30 && line.readyState === WebSocket.OPEN; sent += 1) {
    line.send(writePart({ kind: "events", jobId: made.id, lease: made.lease, events: text }));
    await pause(100);
  }
  for (const reader of readers) reader.destroy();
  line.terminate();
  await connection.request("POST", `/api/jobs/${made.id}/cancel`);
  connection.close();
};

const scatterTags = async ({ port, authorization }: Target, count: Count): Promise<void> => {
  const connection = await Connection.open(port, authorization);
  const claimer = unique();
  await connection.request("POST", "/presence", { instance: claimer, provider: "hostile", status: "idle" });
  for (;;) {
    const jobs = Array.from({ length: JOBS_A_BATCH }, () => ({
      prompt: "scattered",
      tags: Array.from({ length: TAGS_A_JOB }, unique),
    }));
    count(String((await connection.request("POST", "/api/jobs/batch", { jobs })).status));
    count(`claim ${(await connection.request("POST", `/api/workers/${claimer}/claim`, {})).status}`);
  }
};

/** Each file has a few bytes, and stays. */
const storeSmallFiles = async ({ port, authorization }: Target, count: Count): Promise<void> => {
  const connection = await Connection.open(port, authorization);
  for (;;) count(String((await connection.request("POST", "/api/files?name=small", unique())).status));
};

export const ATTACKS = {
  "32 MiB of 10⁷ JSON values": { role: "client", clients: 2, run: postCrowded },
  "bodies of as many values as are taken": { role: "client", clients: 4, run: postFull },
  "sockets that say as much as is read": { role: "worker", clients: 4, run: sayMuch },
  "1,000 sockets with an unfinished message": { role: "worker", clients: 4, run: leaveUnfinished },
  "20,000 workers with the largest offers": { role: "worker", clients: 16, run: offerMuch },
  "a data line of invented jobs": { role: "worker", clients: 4, run: inventJobs },
  "a data line of tiny frames": { role: "worker", clients: 4, run: sendTinyFrames },
  "2,000 workers with data lines": { role: "worker", clients: 4, run: openLines },
  "1,000 readers that do not read": { role: "standard", clients: 8, run: readNothing },
  "a requirement group for each job": { role: "standard", clients: 4, run: scatterTags },
  "small files, as many as are taken": { role: "client", clients: 16, run: storeSmallFiles },
} as const satisfies Readonly<Record<string, Attack>>;

export type AttackName = keyof typeof ATTACKS;

/** Runs an attack's clients for as long as the thread lives. */
export const begin = (name: AttackName, target: Target, count: Count): void => {
  const { clients, run }: Attack = ATTACKS[name];
  const repeat = async (): Promise<void> => {
    for (;;) {
      await run(target, count).catch(() => count("cut off"));
      await pause(REOPEN_AFTER_MS);
    }
  };
  for (let client = 0; client < clients; client += 1) void repeat();
};
