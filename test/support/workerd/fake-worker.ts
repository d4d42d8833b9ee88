// A worker with both its sockets, controlled by the test.

import { env, exports } from "cloudflare:workers";
import { bodyName } from "../../../durable-objects/object-name.ts";
import { holdUrl } from "../../../durable-objects/relay/relay-request.ts";
import { type Body, connectWorker, ORIGIN, type Socket, type World } from "./client.ts";
import { edgeFetch } from "./edge.ts";

export const APIS = ["chat/completions", "completions", "embeddings", "responses", "messages"];

/** What is stored of a body over 1 MiB; null if nothing is. */
export const heldBody = async (tenant: string, jobId: string): Promise<string | null> => {
  const held = await env.RELAY.getByName(bodyName(tenant, jobId)).fetch(holdUrl(jobId));
  const text = await held.text();
  return held.ok ? text : null;
};

export interface FakeWorker {
  readonly socket: Socket;
  /** Messages of the coordinator on the data line. */
  readonly heard: Body[];
  /** The next job that it gets. */
  readonly nextJob: (lease?: number) => Promise<Body>;
  readonly start: (job: Body) => void;
  /** Its first output: reported to the tenant and sent to the reader. */
  readonly speak: (job: Body, events: string) => void;
  readonly say: (job: Body, events: string) => void;
  readonly end: (job: Body, error?: Body) => void;
  readonly complete: (job: Body, result: unknown, more?: Body) => void;
  /** Reports the cost of a job after it was taken back. */
  readonly spent: (job: Body, costUsd: number) => void;
  readonly fail: (job: Body, error: Body) => void;
  readonly dropLine: () => void;
  /** The code with which the coordinator closes the data line. */
  readonly lineClosed: () => Promise<number>;
  readonly openLine: () => Promise<void>;
  readonly sendRaw: (frame: string) => void;
}

const PART = "\u001e";
let count = 0;

export const fakeWorker = async (world: World, presence: Body = {}): Promise<FakeWorker> => {
  const { key } = await world.withKey("worker");
  const { instance = "w1" } = presence;
  const offer = { instance, provider: "local", models: ["m1"], concurrency: 10, apis: APIS, ...presence };
  const socket = await connectWorker(key ?? "", offer);
  const heard: Body[] = [];
  let line: WebSocket | null = null;
  const openLine = async (): Promise<void> => {
    const response = await exports.default.fetch(`${ORIGIN}/api/workers/${instance}/stream`, {
      headers: { upgrade: "websocket", authorization: `Bearer ${key}` },
    });
    if (response.webSocket === null) throw new Error(`no data line: ${response.status} ${await response.text()}`);
    line = response.webSocket;
    line.addEventListener("message", ({ data }) => void heard.push(JSON.parse(data as string)));
    line.accept();
  };
  await openLine();
  const seen = new Set<string>();
  const report = (type: string, job: Body, more: Body = {}): void => {
    count += 1;
    socket.send({ type, id: String(count), job_id: job.id, lease: job.lease, ...more });
  };
  const say = (job: Body, events: string): void => line?.send(`${job.id} ${job.lease}\n${events}`);
  return {
    socket,
    heard,
    nextJob: async () => {
      const isNew = ({ type, job }: Body): boolean => type === "job.assigned" && !seen.has(`${job.id} ${job.lease}`);
      const { job } = await socket.next(isNew);
      seen.add(`${job.id} ${job.lease}`);
      return job;
    },
    start: (job) => report("job.started", job),
    speak: (job, events) => {
      report("job.streaming", job);
      say(job, events);
    },
    say,
    end: (job, error) => line?.send(`${job.id} ${job.lease} end\n${error === undefined ? "" : JSON.stringify(error)}`),
    complete: (job, result, more) => report("job.completed", job, { result, ...more }),
    spent: (job, costUsd) => report("job.spent", job, { cost_usd: costUsd }),
    fail: (job, error) => report("job.failed", job, { error: { message: "broke", ...error } }),
    dropLine: () => line?.close(1000, ""),
    lineClosed: () => new Promise((resolve) => line?.addEventListener("close", ({ code }) => resolve(code))),
    openLine,
    sendRaw: (frame) => line?.send(frame),
  };
};

export const joined = (...parts: string[]): string => parts.join(PART);

/** A streamed answer as it comes. */
export interface Streamed {
  readonly status: number;
  readonly headers: Headers;
  /** What came so far. */
  readonly text: () => string;
  /** Resolves when the text so far matches. */
  readonly until: (fits: (text: string) => boolean) => Promise<string>;
  /** The whole text, once it has ended; rejects if it broke. */
  readonly whole: Promise<string>;
  readonly cancel: () => Promise<void>;
}

export const post = async (
  key: string | null,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Streamed> => {
  const response = await edgeFetch(`${ORIGIN}${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...headers,
    },
    body: JSON.stringify(body),
  });
  return streamed(response as unknown as Response);
};

export const streamed = (response: Response): Streamed => {
  let text = "";
  let waiting: { fits: (text: string) => boolean; resolve: (text: string) => void }[] = [];
  const reader = response.body?.getReader();
  const read = async (): Promise<string> => {
    const decoder = new TextDecoder();
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done) return text;
      text += decoder.decode(value, { stream: true });
      waiting = waiting.filter(({ fits, resolve }) => !fits(text) || resolve(text));
    }
  };
  const whole = read();
  whole.catch(() => undefined);
  return {
    status: response.status,
    headers: response.headers,
    text: () => text,
    until: (fits) => (fits(text) ? Promise.resolve(text) : new Promise((resolve) => waiting.push({ fits, resolve }))),
    whole,
    cancel: async () => {
      await reader?.cancel();
    },
  };
};

export const chunk = (word: string, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 1, model: "m1", choices: [{ index: 0, delta: { content: word }, finish_reason: finish }] })}\n\n`;
export const usageChunk = `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 1, model: "m1", choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } })}\n\n`;
export const DONE = "data: [DONE]\n\n";

/** An event of a `/v1/responses` stream. */
export const responseEvent = (type: string, number: number, more: Body = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number, ...more })}\n\n`;

export const chatAnswer = (text: string) => ({
  id: "c1",
  object: "chat.completion",
  created: 1,
  model: "m1",
  choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
});

export const chat = (more: Body = {}) => ({ model: "m1", messages: [{ role: "user", content: "say hello" }], ...more });

export const CHAT = "/v1/chat/completions";

export const streaming = (more = {}) => chat({ stream: true, ...more });

export const settled = (ms = 100) => new Promise((resolve) => setTimeout(resolve, ms));

export const statusOf = async (world: World, id: string) => {
  const { status, error, attempts, lease } = await world.ok("GET", `/api/jobs/${id}`);
  return { status, code: error?.code ?? null, attempts, lease };
};
