// A client of the front door: one streamed chat, from its request to its end.

import { Agent, request } from "node:http";
import { MODEL, type Said } from "./streaming-runtime.ts";

interface Heard {
  readonly firstMs: number;
  readonly isWhole: boolean;
}

export interface OpenStream {
  /** Resolves with the first bytes of the answer. */
  readonly begun: Promise<void>;
  /** Resolves at the end, however it comes. */
  readonly heard: Promise<Heard>;
  /** Events with data so far. */
  readonly chunks: () => number;
  readonly leave: () => void;
}

const agent = new Agent({ keepAlive: true });
const DONE = "data: [DONE]";

export const openStream = (url: string, authorization: string, { words, everyMs }: Said): OpenStream => {
  const startedAt = performance.now();
  const begun = Promise.withResolvers<void>();
  const heard = Promise.withResolvers<Heard>();
  let firstMs = 0;
  let chunks = 0;
  let tail = "";
  const finish = (): void => {
    begun.resolve();
    heard.resolve({ firstMs, isWhole: tail.includes(DONE) });
  };
  const headers = { authorization, "content-type": "application/json" };
  const asking = request(`${url}/v1/chat/completions`, { method: "POST", headers, agent }, (answer) => {
    answer.setEncoding("utf8");
    answer.on("data", (text: string) => {
      firstMs ||= performance.now() - startedAt;
      begun.resolve();
      chunks += text.split("data: {").length - 1;
      tail = (tail + text).slice(-2 * DONE.length);
    });
    answer.on("close", finish);
  });
  asking.on("error", finish);
  asking.end(
    JSON.stringify({
      model: MODEL,
      stream: true,
      messages: [{ role: "user", content: "talk" }],
      metadata: { words: String(words), every: String(everyMs) },
    }),
  );
  return { begun: begun.promise, heard: heard.promise, chunks: () => chunks, leave: () => asking.destroy() };
};

interface ChunkCost {
  /** CPU of all processes, µs. */
  readonly cost: number;
  /** The same without the worker's. */
  readonly coordinator: number;
  readonly byProcess: string;
  /** Streams that came to their end. */
  readonly whole: number;
}

/** What the chunks cost that open streams still get. `used`: each process's CPU time so far, µs. */
export const chunkCost = async (
  streams: readonly OpenStream[],
  used: () => ReadonlyMap<string, number>,
): Promise<ChunkCost> => {
  const heardSoFar = (): number => streams.reduce((sum, stream) => sum + stream.chunks(), 0);
  const before = { used: used(), chunks: heardSoFar() };
  const heard = await Promise.all(streams.map((stream) => stream.heard));
  const chunks = Math.max(1, heardSoFar() - before.chunks);
  const costs = [...used()].map(([name, now]) => [name, (now - (before.used.get(name) ?? 0)) / chunks] as const);
  const sumOf = (some: typeof costs): number => some.reduce((sum, [, cost]) => sum + cost, 0);
  return {
    cost: sumOf(costs),
    coordinator: sumOf(costs.filter(([name]) => name !== "worker")),
    byProcess: costs.map(([name, cost]) => `${name} ${cost.toFixed(0)}`).join(", "),
    whole: heard.filter(({ isWhole }) => isWhole).length,
  };
};
