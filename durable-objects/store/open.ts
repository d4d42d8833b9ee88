// The only access to the object's database: its tables, and when the earliest thing in them is due.

import { activityTable } from "./activity.ts";
import { batchesTable, lineEndsTable } from "./batches.ts";
import { capacityNoticesTable } from "./capacity-notices.ts";
import { catalogTable } from "./catalog.ts";
import { deliveriesTable } from "./deliveries.ts";
import { filesTable } from "./files.ts";
import { haltedJobsTable } from "./halted-jobs.ts";
import { idempotencyTable } from "./idempotency.ts";
import { idleWorkersTable } from "./idle-workers.ts";
import { jobsTable } from "./jobs.ts";
import { Journal } from "./journal.ts";
import { keyUseTable } from "./key-use.ts";
import { keysTable, sessionsTable } from "./keys.ts";
import { latencyTable } from "./latency.ts";
import { modelTasksTable } from "./model-tasks.ts";
import { outboxTable } from "./outbox.ts";
import { payloadsTable } from "./payloads.ts";
import { attemptsTable, keyGrantsTable, peopleTable, personSessionsTable } from "./people.ts";
import { providerKeysTable } from "./provider-keys.ts";
import { responsesTable } from "./responses.ts";
import { schedulesTable } from "./schedules.ts";
import { migrate } from "./schema.ts";
import { settingsTable } from "./settings.ts";
import { silentWorkersTable } from "./silent-workers.ts";
import { spendingTable } from "./spending.ts";
import { countedSql, type TenantStorage, type Written } from "./sql.ts";
import { unreportedTable } from "./unreported.ts";
import { webhooksTable } from "./webhooks.ts";
import { backoffsTable, workersTable } from "./workers.ts";

export type Store = ReturnType<typeof tablesOf>;

const tablesOf = (plain: TenantStorage) => {
  const written: Written = { object: 0, history: 0 };
  const storage = { sql: countedSql(plain.sql, written) };
  const settings = settingsTable(storage.sql);
  const journal = new Journal(storage.sql, settings);
  const payloads = payloadsTable(storage.sql, journal);
  const jobs = jobsTable(storage.sql, journal, payloads);
  const keys = keysTable(storage.sql);
  const outbox = outboxTable(storage.sql, journal);
  return {
    settings,
    jobs,
    payloads,
    workers: workersTable(storage.sql),
    modelTasks: modelTasksTable(storage.sql),
    backoffs: backoffsTable(storage.sql),
    keys,
    keyUse: keyUseTable(storage.sql),
    sessions: sessionsTable(storage.sql),
    people: peopleTable(storage.sql),
    personSessions: personSessionsTable(storage.sql),
    attempts: attemptsTable(storage.sql),
    keyGrants: keyGrantsTable(storage.sql),
    outbox,
    idempotency: idempotencyTable(storage.sql),
    schedules: schedulesTable(storage.sql),
    spending: spendingTable(storage.sql),
    catalog: catalogTable(storage.sql),
    unreported: unreportedTable(storage.sql),
    haltedJobs: haltedJobsTable(storage.sql),
    webhooks: webhooksTable(storage.sql),
    deliveries: deliveriesTable(storage.sql),
    capacityNotices: capacityNoticesTable(storage.sql),
    idleWorkers: idleWorkersTable(storage.sql),
    silentWorkers: silentWorkersTable(storage.sql),
    files: filesTable(storage.sql),
    batches: batchesTable(storage.sql),
    lineEnds: lineEndsTable(storage.sql),
    activity: activityTable(storage.sql),
    latency: latencyTable(storage.sql),
    providerKeys: providerKeysTable(storage.sql),
    responses: responsesTable(storage.sql),
    written,
    bytes: (): number => storage.sql.databaseSize,
    /** Drops its caches, after a rollback. */
    forgetRecent: (): void => {
      jobs.forgetRecent();
      keys.forgetRecent();
      outbox.forgetRecent();
    },
  };
};

export const openStore = (storage: TenantStorage): Store => {
  storage.transactionSync(() => migrate(storage.sql));
  return tablesOf(storage);
};
