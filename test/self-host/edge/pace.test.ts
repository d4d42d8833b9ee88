import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { Bucket, Paces } from "../../../self-host/edge/pace.ts";

describe("the bytes of a tenant's data lines", () => {
  test("pass at once until the burst is used, then wait for their share of a second", () => {
    const bucket = new Bucket(0, 1_000, 500);
    expect(bucket.take(500, 0)).toBe(0);
    expect(bucket.take(100, 0)).toBe(100);
    expect(bucket.take(100, 0)).toBe(200);
    expect(bucket.take(0, 200)).toBe(0);
    expect(bucket.take(100, 300)).toBe(0);
  });

  test("never gather more than the burst, however long nothing comes", () => {
    const bucket = new Bucket(0, 1_000, 500);
    expect(bucket.take(600, 1_000_000)).toBe(100);
  });

  test("do not gain by a clock that goes back", () => {
    const bucket = new Bucket(1_000, 1_000, 500);
    bucket.take(500, 1_000);
    expect(bucket.take(100, 0)).toBe(100);
  });

  test("share one bucket over all lines of the tenant, which is forgotten with the last line", async () => {
    const paces = new Paces();
    const lines = [paces.open("t"), paces.open("t"), paces.open("other")];
    expect(paces.size).toBe(2);
    lines[0]?.write("text");
    const [passed] = (await once(lines[0] as NodeJS.ReadableStream, "data")) as [Buffer];
    expect(String(passed)).toBe("text");
    for (const line of lines) {
      line.destroy();
      await once(line, "close");
    }
    expect(paces.size).toBe(0);
  });
});
