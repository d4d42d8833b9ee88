// Events that are longer than a part of the data line: an image in one event. They pass in pieces, unchanged.

import { exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { MAX_PART_BYTES, PIECE_CHARS } from "../../contract/data-line.ts";
import { piecesOf } from "../../contract/text/event-text.ts";
import { LONGEST_HELD_BYTES } from "../../contract/text/whole-events.ts";
import { newWorld, ORIGIN, type World } from "../support/workerd/client.ts";
import { CHAT, chat, chunk, type FakeWorker, fakeWorker, post, streamed } from "../support/workerd/fake-worker.ts";

const IMAGES = "/v1/images/generations";
const DRAW = { model: "m1", prompt: "a cat", stream: true };
const COUNTS = '"usage":{"input_tokens":1,"output_tokens":2}';

const imageEvent = (type: string, chars = 3 * MAX_PART_BYTES): string =>
  `event: ${type}\ndata: {"type":"${type}","b64_json":"${"A".repeat(chars)}",${COUNTS}}\n\n`;

const sayLong = (worker: FakeWorker, job: { id: string }, event: string): void => {
  for (const piece of piecesOf(event, PIECE_CHARS)) worker.say(job, piece);
};

const drawing = async (world: World) => {
  const worker = await fakeWorker(world, { apis: ["images/generations"] });
  const answering = post(world.key, IMAGES, DRAW);
  const job = (await worker.nextJob()) as { id: string; lease: number };
  worker.start(job);
  return { worker, answering, job };
};

describe("an event of 3 MiB", () => {
  it("reaches its client unchanged, and may be the end of its stream", async () => {
    const { worker, answering, job } = await drawing(await newWorld());
    const events = [imageEvent("image_generation.partial_image"), imageEvent("image_generation.completed")];
    const said = events.join("");
    for (const event of events) sayLong(worker, job, event);
    const answer = await answering;
    await answer.until((text) => text.length >= said.length);
    worker.end(job);
    worker.complete(job, { data: [] });
    expect((await answer.whole) === said).toBe(true);
  });

  it("has the id of the stored response that it bears, as the short events before it", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world, { apis: ["responses"] });
    const answering = post(world.key, "/v1/responses", { model: "m1", input: "draw", stream: true });
    const job = (await worker.nextJob()) as { id: string; lease: number };
    worker.start(job);
    const event = (type: string, result: string): string =>
      `event: ${type}\ndata: {"type":"${type}","response":{"id":"resp_9","output":[{"id":"ig_1","result":"${result}"}]}}\n\n`;
    worker.say(job, event("response.created", ""));
    sayLong(worker, job, event("response.completed", "A".repeat(3 * MAX_PART_BYTES)));
    worker.end(job);
    worker.complete(job, null);
    const ids = (await (await answering).whole).match(/"id":"[^"]*"/g);
    const own = `"id":"resp_${job.id}"`;
    expect(ids).toEqual([own, '"id":"ig_1"', own, '"id":"ig_1"']);
  });

  it("is one event with one number to second readers, with those before and after it", async () => {
    const world = await newWorld();
    const { worker, answering, job } = await drawing(world);
    worker.say(job, 'data: {"n":1}\n\n');
    const answer = await answering;
    const headers = { authorization: `Bearer ${world.key}` };
    const reading = await exports.default.fetch(`${ORIGIN}/api/jobs/${job.id}/stream`, { headers });
    const reader = streamed(reading as unknown as Response);
    await reader.until((text) => text.includes('{"n":1}'));
    const long = imageEvent("image_generation.partial_image");
    sayLong(worker, job, long);
    worker.say(job, 'data: {"n":3}\n\n');
    worker.say(job, imageEvent("image_generation.completed", 1));
    worker.end(job);
    worker.complete(job, { data: [] });
    await answer.whole;
    const chunks = (await reader.whole).split("\n\n").filter((event) => event.includes("event: chunk"));
    const told = chunks.map((event) => event.split("\n").slice(1, 3));
    expect(told.map(([id]) => id)).toEqual([1, 2, 3, 4].map((n) => `id: ${job.lease}.${n}`));
    expect(told[1]?.[1] === long.split("\n")[1]).toBe(true);
    expect(told[2]?.[1]).toBe('data: {"n":3}');
  });

  it("keeps its bytes where the usage that nobody asked for is taken out beside it", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, chat({ stream: true }));
    const job = await worker.nextJob();
    const long = chunk(`${"A".repeat(3 * MAX_PART_BYTES)} "usage"`);
    const usage = 'data: {"id":"c","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}\n\n';
    const pieces = [...piecesOf(long, PIECE_CHARS)];
    for (const piece of pieces.slice(0, -1)) worker.say(job, piece);
    worker.say(job, `${pieces.at(-1)}${usage}data: [DONE]\n\n`);
    const answer = await answering;
    worker.end(job);
    worker.complete(job, { choices: [] });
    expect((await answer.whole) === `${long}data: [DONE]\n\n`).toBe(true);
  });

  it("that breaks off is ended before the error that says so", async () => {
    const { worker, answering, job } = await drawing(await newWorld());
    const [first = ""] = piecesOf(imageEvent("image_generation.partial_image"), PIECE_CHARS);
    worker.say(job, first);
    const answer = await answering;
    worker.end(job, { code: "broke", message: "broke" });
    worker.fail(job, { code: "broke" });
    const events = (await answer.whole).split("\n\n");
    expect(events[0] === first).toBe(true);
    expect(events[1]).toContain('"code":"broke"');
  });

  it("has no sign of life within it, which would be a part of it", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { front_door: { keep_alive_seconds: 0.1 } });
    const worker = await fakeWorker(world);
    const ask = async (...said: string[]) => {
      const answering = post(world.key, CHAT, chat({ stream: true }));
      const job = await worker.nextJob();
      for (const piece of said) worker.say(job, piece);
      return answering;
    };
    const event = chunk("A".repeat(3 * MAX_PART_BYTES));
    const long = await ask(...[...piecesOf(event, PIECE_CHARS)].slice(0, -1));
    const short = await ask(chunk("hi"));
    await long.until((text) => text.length > LONGEST_HELD_BYTES);
    await short.until((text) => text.split(": keep-alive").length > 3);
    expect(event.startsWith(long.text())).toBe(true);
  });

  it("passes over HTTP, too", async () => {
    const world = await newWorld();
    const { worker, answering, job } = await drawing(world);
    const said = imageEvent("image_generation.partial_image") + imageEvent("image_generation.completed");
    const written = exports.default.fetch(`${ORIGIN}/api/jobs/${job.id}/stream?lease=${job.lease}`, {
      method: "POST",
      headers: { authorization: `Bearer ${world.key}`, "content-type": "text/event-stream" },
      body: said,
    });
    const answer = await answering;
    expect((await written).status).toBe(204);
    worker.complete(job, { data: [] });
    expect((await answer.whole) === said).toBe(true);
  });
});
