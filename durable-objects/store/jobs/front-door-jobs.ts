// Open jobs by who waits for them: clients of the front door, a batch, a key. A pending job that a client waits for
// always has a due time.

import { isLeased, isWaitedFor, type Job } from "../../../domain/job/job.ts";
import type { Journal } from "../journal.ts";
import { all, type Sql } from "../sql.ts";
import { openJobs } from "./open-jobs.ts";

const WAITED_FOR = "record ->> 'frontDoor' IS NOT NULL AND record ->> '$.frontDoor.isBackground' IS NULL";

export const frontDoorJobs = (sql: Sql, journal: Journal) => {
  const open = openJobs(sql);
  const openOfFrontDoor = (): Job[] => [
    ...open.list({
      where: `worker IS NOT NULL AND ${WAITED_FOR}`,
      young: journal.open((job) => isLeased(job) && isWaitedFor(job)),
    }),
    ...open.list({
      where: `due_at IS NOT NULL AND status = 'pending' AND ${WAITED_FOR}`,
      young: journal.open((job) => !isLeased(job) && isWaitedFor(job)),
    }),
  ];
  /** The jobs whose bodies are stored outside. */
  const withHeldBodies = (): Job[] =>
    open.list({
      where: "record ->> '$.frontDoor.isBodyHeld' AND status IN ('pending', 'assigned', 'running')",
      young: journal.open((job) => job.frontDoor?.isBodyHeld === true),
    });
  return {
    openOfFrontDoor,

    openOfBatch: (batch: string): Job[] =>
      open.list({
        where: "status IN ('pending', 'assigned', 'running') AND record ->> 'batch' = ?",
        bindings: [batch],
        young: journal.open((job) => job.batch === batch),
      }),

    heldBodies: (): string[] => withHeldBodies().map(({ id }) => id),

    heldBodyBytes: (): number => withHeldBodies().reduce((sum, { frontDoor }) => sum + (frontDoor?.heldBytes ?? 0), 0),

    openStreamCount: (): number =>
      open.count({
        where: "worker IS NOT NULL AND record ->> 'stream' AND record ->> 'firstTokenAt' IS NOT NULL",
        young: journal.open((job) => job.stream && job.firstTokenAt !== null),
      }),

    /** Without lines of batches. Reads every open job: only called when the counting of a key's jobs begins. */
    openCountOf: (keyId: string): number =>
      open.count({
        where: "status IN ('pending', 'assigned', 'running') AND record ->> 'keyId' = ? AND record ->> 'batch' IS NULL",
        bindings: [keyId],
        young: journal.open((job) => job.keyId === keyId && job.batch === null),
      }),

    /** The same for those that wait. */
    waitingCountOf: (keyId: string): number =>
      open.count({
        where: "status = 'pending' AND record ->> 'keyId' = ? AND record ->> 'batch' IS NULL",
        bindings: [keyId],
        young: journal.open((job) => job.status === "pending" && job.keyId === keyId && job.batch === null),
      }),

    /** The same for all that are open, by the person that they are for. */
    openCountsByUser: (keyId: string): Map<string, number> => {
      const counts = new Map<string, number>();
      const note = (user: string, count: number): void => void counts.set(user, (counts.get(user) ?? 0) + count);
      const query = `SELECT record ->> 'fairnessKey' AS user, COUNT(*) AS count FROM jobs
        WHERE status IN ('pending', 'assigned', 'running') AND record ->> 'keyId' = ? AND record ->> 'batch' IS NULL
          AND record ->> 'fairnessKey' IS NOT NULL GROUP BY 1`;
      for (const { user, count } of all<{ user: string; count: number }>(sql, query, keyId)) note(user, count);
      for (const { job } of journal.open((one) => one.keyId === keyId && one.batch === null))
        if (job.fairnessKey !== null) note(job.fairnessKey, 1);
      return counts;
    },
  };
};
