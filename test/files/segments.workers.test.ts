// What a reader of a file's bytes holds.

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { Segments } from "../../durable-objects/files/segments.ts";

it("a reader that leaves in the middle gives back what it was given, at once", async () => {
  await runInDurableObject(env.FILES.getByName("t/file/left"), async (_, { storage }) => {
    const segments = new Segments(storage);
    const limits = { maxBytes: 9, maxTotalBytes: 9, expiresAt: 1 };
    await segments.write(
      { id: "a", segment: "whole", from: 0, to: 0, view: null, ...limits },
      new Blob(["123"]).stream(),
    );
    const reading = segments.pieces(0, 3);
    const { value: piece } = reading.next();
    expect(piece?.byteLength).toBe(3);
    reading.return(undefined);
    expect(piece?.byteLength).toBe(0);
  });
});
