// The digests of a file, read in steps.

import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { RunningDigests } from "../../durable-objects/files/running-digest.ts";

const STEP = 10;
const bytes = new TextEncoder().encode("a file that takes four steps of ten");

/** What each step reads. */
const reading = () => {
  const steps: [number, number][] = [];
  return {
    steps,
    read: function* (from: number, to: number) {
      steps.push([from, to]);
      for (let at = from; at < to; at += 3) yield bytes.subarray(at, Math.min(to, at + 3));
    },
  };
};

const whole = {
  bytes: bytes.byteLength,
  sha256: createHash("sha256").update(bytes).digest("hex"),
  md5: createHash("md5").update(bytes).digest("hex"),
};

it("reads a bounded part at a time, and each part once", async () => {
  const digests = new RunningDigests(STEP);
  const { steps, read } = reading();
  const step = () => digests.step("a", bytes.byteLength, read);
  for (let count = 0; count < 3; count += 1) expect(await step()).toBeNull();
  expect(await step()).toEqual(whole);
  expect(await step()).toEqual(whole);
  expect(steps).toEqual([
    [0, 10],
    [10, 20],
    [20, 30],
    [30, 35],
  ]);
});

it("gives all who ask at the same time the same answer", async () => {
  const digests = new RunningDigests(STEP);
  const { steps, read } = reading();
  const ask = () => digests.step("a", bytes.byteLength, read);
  const found = await Promise.all(Array.from({ length: 5 }, ask));
  expect(found).toEqual([null, null, null, whole, whole]);
  expect(steps).toHaveLength(4);
});

it("begins again with what it has forgotten, or could not read", async () => {
  const digests = new RunningDigests(STEP, 4);
  const { steps, read } = reading();
  const ask = (name: string) => digests.step(name, bytes.byteLength, read);
  for (const name of ["a", "b", "c", "d", "e"]) await ask(name);
  const broken = digests.step("e", bytes.byteLength, () => {
    throw new Error("the file has ended");
  });
  await expect(broken).rejects.toThrow("has ended");
  for (const name of ["a", "e"]) {
    for (let count = 0; count < 3; count += 1) expect(await ask(name)).toBeNull();
    expect(await ask(name)).toEqual(whole);
  }
  expect(steps.filter(([from]) => from === 0)).toHaveLength(7);
});
