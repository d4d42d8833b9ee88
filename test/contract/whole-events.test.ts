// What passes of a stream of events, and what is held back until its event is whole.

import { expect, it } from "vitest";
import { LONGEST_HELD_BYTES, WholeEvents } from "../../contract/text/whole-events.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (found: Uint8Array): string => new TextDecoder().decode(found);
const KIB = 1024;

it.each(["\n\n", "\r\n\r\n", "\r\r"])("cut anywhere, events that end with %j pass as soon as they are whole", (end) => {
  const said = ["data: one", "event: two\ndata: zwölf", ": three"].map((event) => event + end).join("");
  const all = bytes(said);
  for (let cut = 0; cut <= all.byteLength; cut += 1) {
    const events = new WholeEvents();
    const passed = [all.subarray(0, cut), all.subarray(cut)].map((piece) => text(events.take(piece)));
    expect(passed.join("")).toBe(said);
    expect(passed[0] === "" || passed[0]?.endsWith(end)).toBe(true);
    expect(text(events.rest())).toBe("");
  }
});

it("an event that is whole never waits for the next one", () => {
  const events = new WholeEvents();
  expect(text(events.take(bytes("data: one\n\ndata: t")))).toBe("data: one\n\n");
  expect(text(events.take(bytes("wo\n\n")))).toBe("data: two\n\n");
  expect(text(events.take(bytes("data: th")))).toBe("");
  expect(text(events.rest())).toBe("data: th");
  expect(text(events.take(bytes("data: four\n\n")))).toBe("data: four\n\n");
});

it("knows the end of what passed, and not of what was held", () => {
  const events = new WholeEvents();
  for (let number = 0; number < 10_000; number += 1) events.take(bytes(`data: ${number}\n\n`));
  events.take(bytes("data: half"));
  const last = events.last();
  expect(last.endsWith("data: 9998\n\ndata: 9999\n\n")).toBe(true);
  expect(last.length).toBeGreaterThanOrEqual(16 * KIB);
  expect(last.length).toBeLessThan(32 * KIB);
});

it("keeps the end of what passed, however it is cut, and little more", () => {
  for (const size of [10, 300, 5 * KIB]) {
    const events = new WholeEvents();
    let said = "";
    for (let number = 0; said.length < 100 * KIB; number += 1) {
      const event = `data: ${`${number} `.padEnd(size, "x")}\n\n`;
      said += event;
      events.take(bytes(event));
    }
    const last = events.last();
    expect(said.endsWith(last)).toBe(true);
    expect(last.length).toBeGreaterThanOrEqual(16 * KIB);
    expect(last.length).toBeLessThan(24 * KIB);
  }
});

it("holds no more than an event may have", () => {
  const events = new WholeEvents();
  expect(events.take(bytes("x".repeat(LONGEST_HELD_BYTES))).byteLength).toBe(0);
  expect(events.take(bytes("yz")).byteLength).toBe(LONGEST_HELD_BYTES + 2);
  expect(events.rest().byteLength).toBe(0);
});

it("an event in very many small pieces is not copied again with each of them", () => {
  const copied: number[] = [];
  const { set } = Uint8Array.prototype;
  Uint8Array.prototype.set = function (from, at) {
    copied.push(from.length);
    set.call(this, from, at);
  };
  try {
    const events = new WholeEvents();
    for (let piece = 0; piece < 100_000; piece += 1) events.take(bytes("x".repeat(10)));
  } finally {
    Uint8Array.prototype.set = set;
  }
  expect(copied.reduce((sum, one) => sum + one, 0)).toBeLessThan(4 * 1_000_000);
});
