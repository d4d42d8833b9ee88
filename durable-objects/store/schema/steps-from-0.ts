// Steps 0 to 19 of the object's schema (`schema.ts`).

export const FROM_0 = [
  [
    `CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID`,

    // `due_at`: when the sweep must look at the job next. `changed_seq`: the outbox row of its last change.
    `CREATE TABLE jobs (
      id TEXT PRIMARY KEY,
      status TEXT NOT NULL,
      group_key TEXT NOT NULL,
      order_key INTEGER,
      worker TEXT,
      schedule TEXT,
      due_at INTEGER,
      changed_seq INTEGER NOT NULL,
      record TEXT NOT NULL
    )`,
    `CREATE INDEX jobs_waiting ON jobs (group_key, order_key, id) WHERE order_key IS NOT NULL`,
    `CREATE INDEX jobs_due ON jobs (due_at) WHERE due_at IS NOT NULL`,
    `CREATE INDEX jobs_leased ON jobs (worker, status, id) WHERE worker IS NOT NULL`,
    `CREATE INDEX jobs_scheduled ON jobs (schedule) WHERE schedule IS NOT NULL`,

    `CREATE TABLE payloads (job_id TEXT PRIMARY KEY, prompt TEXT NOT NULL, input TEXT NOT NULL)`,
    `CREATE TABLE results (job_id TEXT PRIMARY KEY, result TEXT NOT NULL)`,

    `CREATE TABLE workers (instance TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID`,
    `CREATE TABLE keys (id TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID`,
    `CREATE TABLE sessions (
      id TEXT PRIMARY KEY, key_id TEXT NOT NULL, hash TEXT NOT NULL, expires_at INTEGER NOT NULL
    ) WITHOUT ROWID`,
    `CREATE INDEX sessions_expiry ON sessions (expires_at)`,

    `CREATE TABLE outbox (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, body TEXT NOT NULL)`,

    `CREATE TABLE idempotency (
      scope TEXT NOT NULL, key TEXT NOT NULL, body_hash TEXT NOT NULL, answer TEXT NOT NULL, expires_at INTEGER NOT NULL,
      PRIMARY KEY (scope, key)
    ) WITHOUT ROWID`,
    `CREATE INDEX idempotency_expiry ON idempotency (expires_at)`,

    `CREATE TABLE backoffs (provider TEXT PRIMARY KEY, until_at INTEGER NOT NULL) WITHOUT ROWID`,
    `CREATE TABLE schedules (name TEXT PRIMARY KEY, next_run_at INTEGER, record TEXT NOT NULL) WITHOUT ROWID`,
    `CREATE INDEX schedules_due ON schedules (next_run_at) WHERE next_run_at IS NOT NULL`,
    `CREATE TABLE spending (day_at INTEGER PRIMARY KEY, nano_usd INTEGER NOT NULL)`,
  ],
  [
    // `chars`: of the body and of the prompts, inputs and results that go to history with it. It comes before the body,
    // so that summing it reads no bodies. Older rows count as large, because their size is not known.
    `CREATE TABLE outbox_weighed (
      seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, chars INTEGER NOT NULL, body TEXT NOT NULL
    )`,
    `INSERT INTO outbox_weighed (seq, at, chars, body) SELECT seq, at, 200000, body FROM outbox`,
    `DROP TABLE outbox`,
    `ALTER TABLE outbox_weighed RENAME TO outbox`,
    // Final jobs whose time to leave came before history had them.
    `CREATE INDEX jobs_shelved ON jobs (changed_seq)
      WHERE due_at IS NULL AND status IN ('completed', 'failed', 'cancelled')`,
  ],
  [
    // Spending by provider; earlier spending has none.
    `CREATE TABLE spending_by_provider (
      day_at INTEGER NOT NULL, provider TEXT NOT NULL, nano_usd INTEGER NOT NULL, PRIMARY KEY (day_at, provider)
    ) WITHOUT ROWID`,
    `INSERT INTO spending_by_provider (day_at, provider, nano_usd) SELECT day_at, '', nano_usd FROM spending`,
    `DROP TABLE spending`,
    `ALTER TABLE spending_by_provider RENAME TO spending`,

    // One row per model; before this, one setting held every provider's list. `removed_at`: when the list last lost it.
    `CREATE TABLE catalog_models (
      provider TEXT NOT NULL, model TEXT NOT NULL, removed_at INTEGER, price TEXT, PRIMARY KEY (provider, model)
    ) WITHOUT ROWID`,
    `INSERT OR IGNORE INTO catalog_models (provider, model, price)
      SELECT provider.key, model.value, (
        SELECT price.value FROM json_each(provider.value, '$.prices') AS price WHERE price.key = model.value
      )
      FROM settings, json_each(settings.value) AS provider, json_each(provider.value, '$.models') AS model
      WHERE settings.name = 'catalog'`,
    `INSERT OR IGNORE INTO catalog_models (provider, model, removed_at)
      SELECT provider.key, model.value, model.key
      FROM settings, json_each(settings.value) AS provider, json_each(provider.value, '$.removed') AS model
      WHERE settings.name = 'catalog'`,
    `DELETE FROM settings WHERE name = 'catalog'`,

    // Each provider may have a budget, so this becomes a list of reached budgets.
    `INSERT INTO settings (name, value)
      SELECT 'budget_notices', json_array(json_set(value, '$.provider', NULL)) FROM settings
      WHERE name = 'budget_notice' AND value <> 'null'`,
    `DELETE FROM settings WHERE name = 'budget_notice'`,
  ],
  [
    // The front door: jobs and workers of earlier releases have none of its fields.
    `UPDATE jobs SET record = json_set(record, '$.api', NULL, '$.stream', json('false'), '$.firstTokenAt', NULL,
      '$.frontDoor', NULL, '$.queueUntilAt', NULL, '$.keyId', NULL)`,
    `UPDATE workers SET record = json_set(record, '$.apis', json('[]'), '$.runtimeModels', NULL)`,
  ],
  [
    `CREATE TABLE webhooks (id TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID`,
    `CREATE TABLE deliveries (
      id TEXT PRIMARY KEY,
      webhook_id TEXT NOT NULL,
      event TEXT NOT NULL,
      at INTEGER NOT NULL,
      status TEXT NOT NULL,
      attempts INTEGER NOT NULL,
      response_status INTEGER,
      error TEXT,
      next_attempt_at INTEGER,
      finished_at INTEGER,
      traceparent TEXT,
      body TEXT NOT NULL
    )`,
    `CREATE INDEX deliveries_of ON deliveries (webhook_id, id)`,
    `CREATE INDEX deliveries_due ON deliveries (next_attempt_at, event) WHERE next_attempt_at IS NOT NULL`,
    `CREATE INDEX deliveries_finished ON deliveries (finished_at) WHERE finished_at IS NOT NULL`,
    `CREATE TABLE silent_workers (instance TEXT PRIMARY KEY) WITHOUT ROWID`,
  ],
  [
    // What ran a job's last attempt is now in the job.
    `UPDATE jobs SET record = json_set(record, '$.metadata', json('{}'),
      '$.ranProvider', CASE WHEN record ->> '$.startedAt' IS NOT NULL THEN record ->> '$.workerProvider' END,
      '$.ranModel', CASE WHEN record ->> '$.startedAt' IS NOT NULL THEN record ->> '$.model' END)`,
  ],
  [
    // The secret that opened a session: for open sessions, the key's own.
    `ALTER TABLE sessions ADD COLUMN key_hash TEXT NOT NULL DEFAULT ''`,
    `UPDATE sessions SET key_hash = COALESCE(
      (SELECT record ->> 'hash' FROM keys WHERE keys.id = sessions.key_id), ''
    )`,
  ],
  [`UPDATE jobs SET record = json_set(record, '$.traceparent', NULL)`],
  [
    // Jobs of older releases: no worker has failed them, and their record says what delays them.
    `UPDATE jobs SET record = json_set(record, '$.avoidedWorkers', json('[]'), '$.delayedBy', CASE
        WHEN record ->> 'readyAt' IS NULL THEN NULL
        WHEN record ->> 'releases' > 1 THEN 'release'
        WHEN record ->> 'rateLimitRetries' > 0 THEN 'rate_limit'
        ELSE 'run_at' END)`,
  ],
  [
    // Jobs put back by a lower level, which level 4 of the same halt also cancels.
    `CREATE TABLE halted_jobs (job_id TEXT PRIMARY KEY) WITHOUT ROWID`,
    // Paused by the killswitch: an epoch to compare instead of a flag in each worker.
    `UPDATE settings SET value = json_set(value, '$.pauseEpoch', 0, '$.resumedEpoch', -1) WHERE name = 'killswitch'`,
    `UPDATE workers SET record = json_set(record, '$.resumedEpoch', -(record ->> 'isHalted'))`,
  ],
  [
    // Keys with limits: their requests in the current minute, and their spending.
    `CREATE TABLE key_windows (key_id TEXT PRIMARY KEY, started_at INTEGER NOT NULL, count INTEGER NOT NULL) WITHOUT ROWID`,
    `CREATE TABLE key_spending (
      key_id TEXT NOT NULL, day_at INTEGER NOT NULL, nano_usd INTEGER NOT NULL, PRIMARY KEY (key_id, day_at)
    ) WITHOUT ROWID`,
    `UPDATE keys SET record = json_set(record, '$.limits', NULL)`,
  ],
  [
    // Leases that ended without a report of their holder.
    `CREATE TABLE unreported (
      job_id TEXT NOT NULL, lease INTEGER NOT NULL, worker TEXT NOT NULL, provider TEXT NOT NULL,
      ended_at INTEGER NOT NULL, PRIMARY KEY (job_id, lease)
    ) WITHOUT ROWID`,
    `CREATE INDEX unreported_oldest ON unreported (ended_at)`,
  ],
  // The jobs that a commit created or changed and that are in no table yet (`journal.ts`).
  [`ALTER TABLE outbox ADD COLUMN jobs TEXT`],
  // Open jobs of the keys with a limit on jobs; counted when first needed, because the journal has some of them.
  [`CREATE TABLE key_open_jobs (key_id TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID`],
  // Due deliveries are found by webhook, so that none waits behind another's.
  [
    `DROP INDEX deliveries_due`,
    `CREATE INDEX deliveries_due ON deliveries (webhook_id, next_attempt_at, event) WHERE next_attempt_at IS NOT NULL`,
  ],
  [
    // A group's oldest job is not its head where priorities differ.
    `CREATE INDEX jobs_waiting_by_age ON jobs (group_key, id) WHERE order_key IS NOT NULL`,
    // The few rotated keys whose grace has not ended.
    `CREATE INDEX keys_in_grace ON keys (record ->> '$.previousUntilAt') WHERE record ->> '$.previousUntilAt' IS NOT NULL`,
  ],
  // Deliveries that wait are counted, and the oldest is found, without reading those that have ended.
  [`CREATE INDEX deliveries_pending ON deliveries (webhook_id, id) WHERE status = 'pending'`],
  [
    `CREATE TABLE files (
      id TEXT PRIMARY KEY,
      owner TEXT,
      purpose TEXT,
      job_id TEXT,
      bytes INTEGER NOT NULL,
      is_whole INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      record TEXT NOT NULL
    ) WITHOUT ROWID`,
    `CREATE INDEX files_newest ON files (created_at, id)`,
    `CREATE INDEX files_ending ON files (expires_at)`,
    `CREATE INDEX files_of_job ON files (job_id) WHERE job_id IS NOT NULL`,
    `UPDATE jobs SET record = json_set(record, '$.files', json('[]'), '$.resultFiles', json('[]'),
      '$.resultFile', NULL, '$.resultBytes', NULL)`,
    `UPDATE schedules SET record = json_set(record, '$.files', json('[]'))`,
  ],
  // What an attempt that nobody reports on is estimated from; without the input's tokens it is never estimated.
  [
    `ALTER TABLE unreported ADD COLUMN input_tokens INTEGER`,
    `ALTER TABLE unreported ADD COLUMN said_chars INTEGER NOT NULL DEFAULT 0`,
    `ALTER TABLE unreported ADD COLUMN model TEXT`,
    `ALTER TABLE unreported ADD COLUMN key_id TEXT`,
    `CREATE INDEX unreported_to_estimate ON unreported (ended_at) WHERE input_tokens IS NOT NULL`,
  ],
  [
    // The names of workers' models, apart from the records: memory keeps only a number for each, and a heartbeat does not
    // write them again.
    `CREATE TABLE worker_models (instance TEXT PRIMARY KEY, models TEXT, runtime_models TEXT)`,
    `INSERT INTO worker_models (instance, models, runtime_models)
      SELECT instance, json_extract(record, '$.models'), json_extract(record, '$.runtimeModels') FROM workers
      WHERE json_extract(record, '$.models') IS NOT NULL OR json_extract(record, '$.runtimeModels') IS NOT NULL`,
    `UPDATE workers SET record = json_remove(record, '$.models', '$.runtimeModels')`,
    // The oldest sum of a key's spending, which the alarm deletes.
    `CREATE INDEX key_spending_by_day ON key_spending (day_at)`,
  ],
];
