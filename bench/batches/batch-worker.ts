// Workers on WebSockets that answer the lines of batches and a client's requests, each after the time that a model
// would take.

import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import WebSocket from "ws";
import type { CoordinatorMessage } from "../../contract/socket.ts";
import type { Tenant } from "../signalbox.ts";
import { BATCH_MODEL } from "./batch-clients.ts";

const ANSWER = "an answer ".repeat(70);
const BEAT_EVERY_MS = 10_000;
/** Answers in one frame. */
const MAX_TOGETHER = 100;

interface BatchWorkers {
  readonly close: () => void;
}

export const startBatchWorkers = async (
  tenant: Tenant,
  { count, places, generationMs }: { count: number; places: number; generationMs: number },
): Promise<BatchWorkers> => {
  const sockets = await Promise.all(
    Array.from({ length: count }, (_, at) => openWorker(tenant, `batch-worker-${at}`, places, generationMs)),
  );
  const beats = setInterval(() => {
    for (const socket of sockets) socket.send("ping");
  }, BEAT_EVERY_MS);
  return {
    close: () => {
      clearInterval(beats);
      for (const socket of sockets) socket.terminate();
    },
  };
};

type Assigned = Extract<CoordinatorMessage, { type: "job.assigned" }>["job"];

const openWorker = async (
  { port, authorization }: Tenant,
  instance: string,
  concurrency: number,
  generationMs: number,
): Promise<WebSocket> => {
  const url = `ws://127.0.0.1:${port}/api/workers/${instance}/connect`;
  const socket = new WebSocket(url, { headers: { authorization }, perMessageDeflate: false });
  const done: unknown[] = [];
  const send = (): void => {
    while (done.length > 0) socket.send(JSON.stringify(done.splice(0, MAX_TOGETHER)));
  };
  const answer = async (job: Assigned): Promise<void> => {
    if (generationMs > 0) await pause(generationMs);
    if (done.length === 0) setImmediate(send);
    done.push(completionOf(job));
  };
  const take = (job: Assigned | undefined): void => {
    if (job !== undefined) void answer(job);
  };
  socket.on("message", (frame) => {
    const text = String(frame);
    if (text === "pong") return;
    const parsed = JSON.parse(text) as CoordinatorMessage | CoordinatorMessage[];
    for (const message of Array.isArray(parsed) ? parsed : [parsed]) {
      if (message.type === "job.assigned") take(message.job);
      if (message.type === "welcome" || message.type === "ack") for (const job of message.jobs ?? []) take(job);
      if (message.type === "ack" && !message.ok) throw new Error(`refused: ${JSON.stringify(message.problem)}`);
    }
  });
  await once(socket, "open");
  const apis = ["chat/completions", "messages"];
  const offer = { instance, provider: "bench", models: [BATCH_MODEL], apis, concurrency };
  socket.send(JSON.stringify({ type: "presence", id: "hello", ...offer }));
  return socket;
};

const completionOf = ({ id, lease, api }: Assigned): object => ({
  type: "job.completed",
  id,
  job_id: id,
  lease,
  result: api === "messages" ? message() : completion(),
  usage: { input_tokens: 200, output_tokens: 140 },
});

const message = () => ({
  type: "message",
  role: "assistant",
  model: BATCH_MODEL,
  content: [{ type: "text", text: ANSWER }],
});

const completion = () => ({
  object: "chat.completion",
  model: BATCH_MODEL,
  choices: [{ index: 0, message: { role: "assistant", content: ANSWER }, finish_reason: "stop" }],
});
