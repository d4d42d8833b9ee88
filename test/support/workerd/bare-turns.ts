// Turns on a tenant's database without its object around them: nothing is committed, sent or woken. For tests of what one
// operation or step reads and decides.

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { SERVICE } from "../../../durable-objects/calls/turn-runner.ts";
import { openStore, type Store } from "../../../durable-objects/store/open.ts";
import { countersFrom } from "../../../durable-objects/turn/memory/counters.ts";
import { loadMemory, type Memory } from "../../../durable-objects/turn/memory/memory.ts";
import type { StorageBounds } from "../../../durable-objects/turn/memory/storage-memory.ts";
import { OutboxWriter } from "../../../durable-objects/turn/outbox-writer.ts";
import { Turn } from "../../../durable-objects/turn/turn.ts";

export interface BareTurns {
  readonly store: Store;
  readonly memory: () => Memory;
  readonly turnAt: (nowAt: number, outbox?: OutboxWriter) => Turn;
  /** As the object does when it wakes. */
  readonly reload: (nowAt: number) => void;
}

/** The database is that of the tenant of this name; the first memory is loaded at `startAt`. */
export const bareTurns = <T>(
  name: string,
  startAt: number,
  use: (turns: BareTurns) => T,
  bounds?: StorageBounds,
): Promise<T> =>
  runInDurableObject(env.TENANT.getByName(name), (_tenant, { storage }) => {
    const store = openStore(storage);
    const load = (nowAt: number): Memory =>
      loadMemory(store, nowAt, { ...countersFrom(null), sweepFailures: new Map() }, undefined, bounds);
    let memory = load(startAt);
    let ids = 0;
    const newId = (): string => {
      ids += 1;
      return `made-${String(ids).padStart(4, "0")}`;
    };
    return use({
      store,
      memory: () => memory,
      turnAt: (nowAt, outbox = new OutboxWriter(memory)) => {
        const context = { nowAt, random: () => 0.3, newId, lastSocketSign: () => null, signLink: () => "" };
        return new Turn(store, memory, outbox, context, SERVICE);
      },
      reload: (nowAt) => {
        memory = load(nowAt);
      },
    });
  });
