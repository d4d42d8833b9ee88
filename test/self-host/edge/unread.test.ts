// What all clients together leave unread.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { cutFurthestBehind } from "../../../self-host/edge/unread.ts";

const KIB = 1024;
const LOOK_MS = 250;

class Client {
  isCut = false;
  writableLength: number;

  constructor(kib: number) {
    this.writableLength = kib * KIB;
  }

  destroy(): void {
    this.isCut = true;
    this.writableLength = 0;
  }
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const clientsWith = (...kib: readonly number[]): Client[] => kib.map((each) => new Client(each));
const areCut = (clients: readonly Client[]): boolean[] => clients.map(({ isCut }) => isCut);

it("cuts off those furthest behind, until the others fit", () => {
  const clients = clientsWith(300, 500, 200, 400);
  cutFurthestBehind(clients, 1_000 * KIB);
  vi.advanceTimersByTime(2 * LOOK_MS);
  expect(areCut(clients)).toEqual([false, true, false, false]);
});

it("cuts nobody off for a burst that is read by the next look", () => {
  const clients = clientsWith(5_000, 60);
  cutFurthestBehind(clients, 100 * KIB);
  vi.advanceTimersByTime(LOOK_MS);
  for (const client of clients) client.writableLength = 0;
  vi.advanceTimersByTime(LOOK_MS);
  expect(areCut(clients)).toEqual([false, false]);
});

it("looks until it is ended", () => {
  const [client] = clientsWith(80) as [Client];
  const end = cutFurthestBehind([client], 100 * KIB);
  vi.advanceTimersByTime(10 * LOOK_MS);
  expect(client.isCut).toBe(false);
  end();
  client.writableLength = 200 * KIB;
  vi.advanceTimersByTime(10 * LOOK_MS);
  expect([client.isCut, vi.getTimerCount()]).toEqual([false, 0]);
});
