import { expect, test } from "vitest";
import { classifyError } from "../../../worker/runtimes/classify.ts";
import { fetchModelList, rememberedList } from "../../../worker/runtimes/model-list.ts";

test("a list of models that stops halfway until the time is up is a runtime that does not answer: jobs are tried again", async () => {
  const timedOut = new DOMException("The operation was aborted due to timeout", "TimeoutError");
  const body = new ReadableStream({
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode('{"data":['));
    },
    pull: (controller) => controller.error(timedOut),
  });
  const asked = fetchModelList("http://runtime.example/v1/models", null, async () => new Response(body));
  const error = await asked.catch((thrown: unknown) => thrown);
  expect(classifyError(error, 0)).toMatchObject({
    code: "runtime_unreachable",
    message: "The runtime cannot be reached: The operation was aborted due to timeout",
    retryable: true,
  });
});

test("a list of models that never ends is none, and is not held", async () => {
  let bytes = 0;
  const piece = new Uint8Array(1024 * 1024).fill(0x20);
  const body = new ReadableStream({
    pull: (controller) => {
      bytes += piece.byteLength;
      controller.enqueue(piece);
    },
  });
  const asked = fetchModelList("http://runtime.example/v1/models", null, async () => new Response(body));
  expect(classifyError(await asked.catch((thrown: unknown) => thrown), 0)).toMatchObject({
    code: "runtime_unreachable",
    message: expect.stringContaining("it is too large"),
  });
  expect(bytes).toBeLessThan(32 * piece.byteLength);
});

test("a name that an old list has needs no new one, which any other question gets", async () => {
  let nowMs = 0;
  let loads = 0;
  const load = async () => {
    loads += 1;
    return ["m1", `m${loads}`];
  };
  const models = rememberedList(load, () => nowMs);
  const { signal } = new AbortController();
  expect(await models(signal, "m1")).toEqual(["m1", "m1"]);
  nowMs = 60_000;
  expect(await models(signal, "m1")).toEqual(["m1", "m1"]);
  expect(loads).toBe(1);
  expect(await models(signal, "m2")).toEqual(["m1", "m2"]);
  nowMs = 120_000;
  expect(await models(signal)).toEqual(["m1", "m3"]);
  expect(loads).toBe(3);
});

test("a burst of jobs asks once, and a runtime that did not answer is asked again by the next job", async () => {
  let loads = 0;
  const load = async () => {
    loads += 1;
    if (loads === 1) throw new Error("away");
    return ["m"];
  };
  const models = rememberedList(load, () => 0);
  const { signal } = new AbortController();
  const ask = () => models(signal).catch(({ message }: Error) => message);
  expect(await Promise.all([ask(), ask()])).toEqual(["away", "away"]);
  expect(await ask()).toEqual(["m"]);
  expect(await ask()).toEqual(["m"]);
  expect(loads).toBe(2);
});
