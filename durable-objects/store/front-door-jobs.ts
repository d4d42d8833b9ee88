// Open jobs by who waits for them: the front door's, and a key's. A waiting front-door job always has a due time.

import { isLeased, type Job } from "../../domain/job/job.ts";
import type { Journal } from "./journal.ts";
import { openJobs } from "./open-jobs.ts";
import type { Sql } from "./sql.ts";

export const frontDoorJobs = (sql: Sql, journal: Journal) => {
  const open = openJobs(sql);
  const openOfFrontDoor = (): Job[] => [
    ...open.list({
      where: "worker IS NOT NULL AND record ->> 'api' IS NOT NULL",
      young: journal.open((job) => isLeased(job) && job.api !== null),
    }),
    ...open.list({
      where: "due_at IS NOT NULL AND status = 'pending' AND record ->> 'api' IS NOT NULL",
      young: journal.open((job) => !isLeased(job) && job.api !== null),
    }),
  ];
  return {
    openOfFrontDoor,

    /** The jobs whose bodies are stored outside. */
    heldBodies: (): string[] =>
      openOfFrontDoor().flatMap(({ id, frontDoor }) => (frontDoor?.isBodyHeld === true ? [id] : [])),

    heldBodyBytes: (): number => openOfFrontDoor().reduce((sum, { frontDoor }) => sum + (frontDoor?.heldBytes ?? 0), 0),

    openStreamCount: (): number =>
      open.count({
        where: "worker IS NOT NULL AND record ->> 'stream' AND record ->> 'firstTokenAt' IS NOT NULL",
        young: journal.open((job) => job.stream && job.firstTokenAt !== null),
      }),

    /** Reads every open job: only called when the counting of a key's jobs begins. */
    openCountOf: (keyId: string): number =>
      open.count({
        where: "status IN ('pending', 'assigned', 'running') AND record ->> 'keyId' = ?",
        bindings: [keyId],
        young: journal.open((job) => job.keyId === keyId),
      }),
  };
};
