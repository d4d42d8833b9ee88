// A stream whose status was sent before its first event, as Node answers it.

import { expect, it } from "vitest";
import { committed } from "../../src/front-door/answer/stream.ts";

type Given = Parameters<typeof committed>;

const DONE = "data: [DONE]\n\n";

it("a client that leaves with the last event has not lost its stream: the relay alone hears of it", async () => {
  const told: string[] = [];
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(DONE)),
    cancel: () => void told.push("relay"),
  });
  const waits: Promise<unknown>[] = [];
  const context = { executionCtx: { waitUntil: (one: Promise<unknown>) => void waits.push(one) } };
  const asked = { settings: { keepAliveMs: 60_000 }, job: { id: "j1" }, response: null };
  const begun = Promise.resolve({ kind: "events", body });
  const ifLost = (): string => {
    told.push("lost");
    return "";
  };
  const answer = committed(...([{ c: context, asked, request: {} }, begun, ifLost] as unknown as Given));
  let text = "";
  for await (const piece of answer.pipeThrough(new TextDecoderStream() as never) as unknown as AsyncIterable<string>) {
    text += piece;
    if (text.endsWith(DONE)) break;
  }
  await Promise.all(waits);
  expect(told).toEqual(["relay"]);
});
