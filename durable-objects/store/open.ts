// The only access to the object's database: its tables, and when the earliest thing in them is due.

import { keyUseTable } from "./access/key-use.ts";
import { keysTable, sessionsTable } from "./access/keys.ts";
import { attemptsTable, keyGrantsTable, peopleTable, personSessionsTable } from "./access/people.ts";
import { providerKeysTable } from "./access/provider-keys.ts";
import { batchesTable, lineEndsTable } from "./batches.ts";
import { catalogTable } from "./catalog.ts";
import { filesTable } from "./files.ts";
import { capacityNoticesTable } from "./fleet/capacity-notices.ts";
import { idleWorkersTable } from "./fleet/idle-workers.ts";
import { modelTasksTable } from "./fleet/model-tasks.ts";
import { silentWorkersTable } from "./fleet/silent-workers.ts";
import { backoffsTable, workersTable } from "./fleet/workers.ts";
import { haltedJobsTable } from "./jobs/halted-jobs.ts";
import { idempotencyTable } from "./jobs/idempotency.ts";
import { jobsTable } from "./jobs/jobs.ts";
import { payloadsTable } from "./jobs/payloads.ts";
import { Journal } from "./journal.ts";
import { outboxTable } from "./outbox.ts";
import { responsesTable } from "./responses.ts";
import { schedulesTable } from "./schedules.ts";
import { migrate } from "./schema/schema.ts";
import { settingsTable } from "./settings.ts";
import { countedSql, type TenantStorage, type Written } from "./sql.ts";
import { activityTable } from "./sums/activity.ts";
import { latencyTable } from "./sums/latency.ts";
import { spendingTable } from "./sums/spending.ts";
import { unreportedTable } from "./sums/unreported.ts";
import { deliveriesTable } from "./webhooks/deliveries.ts";
import { webhooksTable } from "./webhooks/webhooks.ts";

export type Store = ReturnType<typeof tablesOf>;

const tablesOf = (plain: TenantStorage) => {
  const written: Written = { object: 0, history: 0 };
  const storage = { sql: countedSql(plain.sql, written) };
  const settings = settingsTable(storage.sql);
  const journal = new Journal(storage.sql, settings);
  const payloads = payloadsTable(storage.sql, journal);
  const jobs = jobsTable(storage.sql, journal, payloads);
  const schedules = schedulesTable(storage.sql);
  const keys = keysTable(storage.sql);
  const outbox = outboxTable(storage.sql, journal, settings);
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
    schedules,
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
      schedules.forgetRecent();
      outbox.forgetRecent();
    },
  };
};

export const openStore = (storage: TenantStorage): Store => {
  storage.transactionSync(() => migrate(storage.sql));
  return tablesOf(storage);
};
