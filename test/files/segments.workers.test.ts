// What a reader of a file's bytes holds.

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { ROW_BYTES } from "../../durable-objects/files/rows.ts";
import { Segments } from "../../durable-objects/files/segments.ts";

const limits = { maxBytes: 2 ** 20, maxTotalBytes: 2 ** 20, expiresAt: 1 };
const write = (segments: Segments, bytes: string) =>
  segments.write({ id: "a", segment: "whole", from: 0, to: 0, view: null, ...limits }, new Blob([bytes]).stream());

it("a file that is deleted while it is read has ended, in those words", async () => {
  await runInDurableObject(env.FILES.getByName("t/file/deleted"), async (object, { storage }) => {
    const segments = new Segments(storage);
    await write(segments, "x".repeat(ROW_BYTES + 1));
    const reading = segments.pieces(0, ROW_BYTES + 1);
    expect(reading.next().value?.byteLength).toBe(ROW_BYTES);
    await object.drop();
    expect(() => reading.next()).toThrow("the file has ended");
  });
});

it("a reader that leaves in the middle gives back what it was given, at once", async () => {
  await runInDurableObject(env.FILES.getByName("t/file/left"), async (_, { storage }) => {
    const segments = new Segments(storage);
    await write(segments, "123");
    const reading = segments.pieces(0, 3);
    const { value: piece } = reading.next();
    expect(piece?.byteLength).toBe(3);
    reading.return(undefined);
    expect(piece?.byteLength).toBe(0);
  });
});
