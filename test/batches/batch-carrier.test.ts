// When a batch asks for more of its lines: not while history is behind, and then by what is next at that time.

import { expect, test, vi } from "vitest";
import { BatchCarrier } from "../../durable-objects/effects/batch-carrier.ts";
import type { BatchStep } from "../../durable-objects/sweep/batch-steps.ts";

const ID = "batch";
const take = { id: ID, fileId: "file", do: "take", model: "m", cursor: null, limit: 3 } as const;
const record = { id: ID, fileId: "file", do: "record", answers: [] } as const;

const started = (steps: readonly BatchStep[]) => {
  const left = [...steps];
  const asked: string[] = [];
  const waits: { chars: number; go: () => void }[] = [];
  const file = {
    takeLines: async () => void asked.push("take"),
    recordLines: async () => void asked.push("record"),
  };
  const carrier = new BatchCarrier({
    tenant: "t",
    turns: {
      read: async () => left.shift() ?? null,
      decide: async () => ({ ok: true, value: true }),
    },
    files: { of: () => file },
    roomFor: (chars: number) => new Promise<void>((resolve) => waits.push({ chars, go: resolve })),
  } as unknown as ConstructorParameters<typeof BatchCarrier>[0]);
  const waited = (): Promise<{ chars: number; go: () => void }> =>
    expect
      .poll(() => waits.length)
      .toBeGreaterThan(0)
      .then(() => waits.shift() as (typeof waits)[number]);
  return { carrier, asked, waited };
};

test("a batch takes no further lines until history has room for them", async () => {
  const { carrier, asked, waited } = started([take, take]);
  const carried = carrier.carry(ID);
  const { chars, go } = await waited();
  expect([asked, chars]).toEqual([[], 3_000]);
  go();
  await carried;
  expect(asked).toEqual(["take"]);
});

test("answers that came while it waited are recorded before it takes lines", async () => {
  const { carrier, asked, waited } = started([take, record, take, take]);
  const carried = carrier.carry(ID);
  (await waited()).go();
  (await waited()).go();
  await carried;
  expect(asked).toEqual(["record", "take"]);
});

test("a batch that ended while it waited takes none", async () => {
  const { carrier, asked, waited } = started([take]);
  const carried = carrier.carry(ID);
  (await waited()).go();
  await carried;
  expect(asked).toEqual([]);
});

test("between two long steps as much time as the first took is left to other tenants", async () => {
  vi.useFakeTimers();
  try {
    const begunAt: number[] = [];
    const file = {
      learnBatch: async () => {
        begunAt.push(Date.now());
        await new Promise((resolve) => setTimeout(resolve, 20));
        return { is: "reading" };
      },
    };
    const learn = { id: ID, fileId: "file", do: "learn", bytes: 1, keptUntil: 1, rules: {} } as unknown as BatchStep;
    const carrier = new BatchCarrier({
      tenant: "t",
      turns: { read: async () => (begunAt.length < 3 ? learn : null), decide: async () => ({ ok: true, value: true }) },
      files: { of: () => file },
      roomFor: async () => undefined,
    } as unknown as ConstructorParameters<typeof BatchCarrier>[0]);
    const beganAt = Date.now();
    const carried = carrier.carry(ID);
    await vi.advanceTimersByTimeAsync(1_000);
    await carried;
    expect(begunAt.map((at) => at - beganAt)).toEqual([0, 40, 80]);
  } finally {
    vi.useRealTimers();
  }
});

test("of many batches one file is read, or closed, at a time; a step that hangs keeps no other for ever", async () => {
  vi.useFakeTimers();
  try {
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const long = (id: string) => async () => {
      begun.push(id);
      await new Promise<void>((resolve) => ends.push(resolve));
      return { is: "refused", faults: [] };
    };
    const asked = new Set<string>();
    const next = (): BatchStep => {
      const id = ["a", "b", "c", "d"][asked.size] as string;
      asked.add(id);
      return { id, fileId: id, do: "learn", bytes: 1, keptUntil: 1, rules: {} } as unknown as BatchStep;
    };
    const carrier = new BatchCarrier({
      tenant: "t",
      turns: { read: async () => (asked.size < 4 ? next() : null), decide: async () => ({ ok: true, value: false }) },
      files: { of: (id: string) => ({ learnBatch: long(id) }) },
      roomFor: async () => undefined,
    } as unknown as ConstructorParameters<typeof BatchCarrier>[0]);
    const carried = ["a", "b", "c", "d"].map((id) => carrier.carry(id));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(begun).toEqual(["a"]);
    ends.shift()?.();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(begun).toEqual(["a", "b"]);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(begun).toEqual(["a", "b", "c"]);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(begun).toEqual(["a", "b", "c"]);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(begun).toEqual(["a", "b", "c", "d"]);
    for (const end of ends) end();
    await Promise.all(carried);
  } finally {
    vi.useRealTimers();
  }
});
