// What the object would know if it woke now, read by its own code from its tables, compared with what it knows.

import { openStore, type Store } from "../../../durable-objects/store/open.ts";
import type { Sql, SqlValue } from "../../../durable-objects/store/sql.ts";
import { countLeasedLine } from "../../../durable-objects/turn/memory/batch-memory.ts";
import type { Memory } from "../../../durable-objects/turn/memory/memory.ts";
import type { Disk } from "../platform/disk.ts";
import type { World } from "../world.ts";
import type { Snapshot } from "./snapshot.ts";

const sqlOf = (disk: Disk): Sql => ({
  exec: (query: string, ...bindings: SqlValue[]) => ({ toArray: () => disk.rows(query, ...bindings) }),
  databaseSize: 0,
});

const sorted = (counts: Iterable<readonly [string, number]>): (readonly [string, number])[] =>
  [...counts].filter(([, count]) => count > 0).sort();

const linesOf = ({ jobs }: Store) => {
  const work = { ofBatch: new Map<string, number>(), ofWorker: new Map<string, number>() };
  for (const job of jobs.allLeased()) countLeasedLine(work, job, 1);
  return work;
};

const ofStore = (store: Store, memory: Memory): Record<string, unknown> => {
  const { jobs, deliveries, outbox } = store;
  const lines = linesOf(store);
  return {
    "open jobs": jobs.openCounts(),
    "open streams": jobs.openStreamCount(),
    "held bodies": jobs.heldBodies().sort(),
    "when a job is due": jobs.nextDueAt(),
    "when a job moves": jobs.nextMoveAt(memory.outbox.drainedSeq),
    "jobs that are waited for": jobs
      .openOfFrontDoor()
      .map(({ id }) => id)
      .sort(),
    "a batch's lines": sorted(lines.ofBatch),
    "a worker's lines": sorted(lines.ofWorker),
    "pending deliveries": sorted(deliveries.pendingCounts()),
    "outbox rows": outbox.count(),
  };
};

const ofMemory = ({ openStreams, deliveries, batches }: Memory): Record<string, unknown> => ({
  "open streams": openStreams,
  "pending deliveries": sorted(deliveries.pending),
  ...(batches.open.size === 0
    ? {}
    : { "a batch's lines": sorted(batches.ofBatch), "a worker's lines": sorted(batches.ofWorker) }),
});

export const wakingKnowsTheSame = (_before: Snapshot, now: Snapshot, { shell }: World): string | null => {
  const { memory, store, disk } = shell;
  if (!now.isWhole || memory === null || store === null) return null;
  const sql = sqlOf(disk);
  const woken = ofStore(openStore({ sql, transactionSync: (work) => work() as never }), memory);
  for (const known of [ofStore(store, memory), ofMemory(memory)])
    for (const [what, value] of Object.entries(known))
      if (JSON.stringify(value) !== JSON.stringify(woken[what]))
        return `${what}: ${JSON.stringify(value)} are known, and waking finds ${JSON.stringify(woken[what])}`;
  return null;
};
