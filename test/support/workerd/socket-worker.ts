// A worker with a socket, as tests of the worker protocol use it: with a worker key of the current test's own tenant.

import { beforeEach, expect } from "vitest";
import { type Body, connectWorker, type Socket } from "./client.ts";
import { useOwnTenant, world } from "./own-tenant.ts";

/** The worker key of the current test. */
export let key: string;

/** Once at the head of a file. */
export const useSocketWorkers = (): void => {
  useOwnTenant();
  beforeEach(async () => {
    key = (await world.withKey("worker")).key ?? "";
  });
};

export const offer = (instance: string, more: Record<string, unknown> = {}) => ({
  instance,
  provider: "p",
  status: "idle",
  tags: "",
  ...more,
});

export const worker = (instance: string, more: Record<string, unknown> = {}): Promise<Socket> =>
  connectWorker(key, offer(instance, more));

export const view = (instance: string): Promise<Body> => world.ok("GET", `/api/workers/${instance}`);

export const assigned = (socket: Socket, id: string, lease = 1): Promise<Body> =>
  socket.next((message) => message.type === "job.assigned" && message.job.id === id && message.job.lease === lease);

export const acked = (socket: Socket, id: string): Promise<Body> =>
  socket.next((message) => message.type === "ack" && message.id === id);

export const bearer = (given: string | null): Record<string, string> =>
  given === null ? {} : { authorization: `Bearer ${given}` };

/** Waits until the object knows that a socket is gone. */
export const dropped = (instance: string): Promise<void> =>
  expect.poll(async () => (await view(instance)).connected).toBe(false);
