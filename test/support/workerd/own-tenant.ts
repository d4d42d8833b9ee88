// A tenant of its own for each test of a file, and the calls that most of these tests begin with.

import { beforeEach } from "vitest";
import { type Body, newWorld, type World } from "./client.ts";
import { holdToDocument } from "./document.ts";

/** Of the current test. */
export let world: World;

/** Once at the head of a file. Every answer is held to the OpenAPI document. */
export const useOwnTenant = (): void => {
  holdToDocument();
  beforeEach(async () => {
    world = await newWorld();
  });
};

export const present = (instance: string, more: Record<string, unknown> = {}): Promise<Body> =>
  world.ok("POST", "/presence", { instance, provider: "p", status: "idle", tags: "", ...more });

export const create = (more: Record<string, unknown> = {}): Promise<Body> =>
  world.ok("POST", "/api/jobs", { prompt: "hello", ...more });

export const read = (id: string): Promise<Body> => world.ok("GET", `/api/jobs/${id}`);
