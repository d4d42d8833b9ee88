// What a worker's data line may carry, and what happens beyond that.

import { exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { MAX_DATA_FRAME_BYTES, MAX_FRAME_PARTS, MAX_PART_BYTES } from "../../contract/data-line.ts";
import { closeCodes } from "../../contract/words/values.ts";
import { STREAM_BYTES, UNCONFIRMED_BYTES } from "../../durable-objects/relay/relay-bounds.ts";
import { newWorld, ORIGIN } from "../support/workerd/client.ts";
import { fakeWorker, joined, streamed } from "../support/workerd/fake-worker.ts";

const frameOf = (jobId: string, chars: number): string => `${jobId} 1\n${"x".repeat(chars)}`;

describe("a frame", () => {
  it("that is too long closes the line, and the next line begins as usual", async () => {
    const worker = await fakeWorker(await newWorld());
    worker.sendRaw(frameOf("job", MAX_DATA_FRAME_BYTES));
    expect(await worker.lineClosed()).toBe(closeCodes.badFrame);
    await worker.openLine();
  });

  it("with a part that is too long closes the line", async () => {
    const worker = await fakeWorker(await newWorld());
    worker.sendRaw(frameOf("job", MAX_PART_BYTES + 1));
    expect(await worker.lineClosed()).toBe(closeCodes.badFrame);
  });

  it("with too many parts closes the line", async () => {
    const worker = await fakeWorker(await newWorld());
    worker.sendRaw(joined(...Array.from({ length: MAX_FRAME_PARTS }, () => frameOf("job", 1))));
    worker.sendRaw(joined(...Array.from({ length: MAX_FRAME_PARTS + 1 }, () => frameOf("job", 1))));
    expect(await worker.lineClosed()).toBe(closeCodes.badFrame);
  });
});

describe("the relay", () => {
  it.each([
    [4_095, true],
    [4_096, false],
  ])("keeps 4,096 streams of a worker: beside %i others the first is kept: %s", async (others, isKept) => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    await world.ok("POST", "/api/jobs", { prompt: "hello", model: "m1", stream: true });
    const job = await worker.nextJob();
    worker.start(job);
    const invented = Array.from({ length: others }, (_, at) => frameOf(`job-${at}`, 1));
    worker.sendRaw(joined(`${job.id} ${job.lease}\ndata: {"text":"early"}\n\n`, ...invented));
    const headers = { authorization: `Bearer ${world.key}` };
    const reading = exports.default.fetch(`${ORIGIN}/api/jobs/${job.id}/stream`, { headers });
    const reader = streamed((await reading) as unknown as Response);
    worker.say(job, 'data: {"text":"late"}\n\n');
    await reader.until((text) => text.includes("late"));
    worker.end(job);
    worker.complete(job, "late");
    expect((await reader.whole).includes("early")).toBe(isKept);
  });
});

describe("output", () => {
  it("of jobs that it does not have closes the line", async () => {
    const worker = await fakeWorker(await newWorld());
    // In one stretch, before the tenant can answer whose they are.
    for (let at = 0; at < 10; at += 1) worker.sendRaw(frameOf(`job-${at}`, MAX_PART_BYTES - 100));
    expect(await worker.lineClosed()).toBe(closeCodes.tooManyMessages);
  });

  it("of very many of them closes it, too, however little it is", async () => {
    const worker = await fakeWorker(await newWorld());
    const most = UNCONFIRMED_BYTES / STREAM_BYTES;
    worker.sendRaw(joined(...Array.from({ length: most + 1 }, (_, at) => `job-${at} 1 end\n`)));
    expect(await worker.lineClosed()).toBe(closeCodes.tooManyMessages);
  });
});
