// Steps 20 to 39 of the object's schema (`schema.ts`).

export const FROM_20 = [
  [
    // An idempotency key belongs to the API key that sent it. Those of earlier releases, which did not note that, belong
    // to all keys of the tenant, until they expire within the day.
    `CREATE TABLE idempotency_by_key (
      key_id TEXT NOT NULL, scope TEXT NOT NULL, key TEXT NOT NULL, body_hash TEXT NOT NULL, answer TEXT NOT NULL,
      expires_at INTEGER NOT NULL, PRIMARY KEY (key_id, scope, key)
    ) WITHOUT ROWID`,
    `INSERT INTO idempotency_by_key (key_id, scope, key, body_hash, answer, expires_at)
      SELECT '', scope, key, body_hash, answer, expires_at FROM idempotency`,
    `DROP TABLE idempotency`,
    `ALTER TABLE idempotency_by_key RENAME TO idempotency`,
    `CREATE INDEX idempotency_expiry ON idempotency (expires_at)`,
  ],
  [
    `UPDATE jobs SET record = json_set(record, '$.runnableAt', NULL)`,
    `CREATE TABLE latency (
      kind TEXT NOT NULL, dimension TEXT NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL,
      PRIMARY KEY (kind, dimension, at)
    ) WITHOUT ROWID`,
  ],
  [
    // The deliveries that are being tried: those of an object that died are tried again when it wakes.
    `ALTER TABLE deliveries ADD COLUMN is_taken INTEGER NOT NULL DEFAULT 0`,
    `CREATE INDEX deliveries_taken ON deliveries (id) WHERE is_taken = 1`,
  ],
  [
    `CREATE TABLE batches (
      id TEXT PRIMARY KEY, owner TEXT, file_id TEXT NOT NULL, created_at INTEGER NOT NULL, ended_at INTEGER,
      record TEXT NOT NULL
    ) WITHOUT ROWID`,
    `CREATE INDEX batches_newest ON batches (created_at, id)`,
    `CREATE INDEX batches_open ON batches (id) WHERE ended_at IS NULL`,
    `CREATE INDEX batches_ended ON batches (ended_at) WHERE ended_at IS NOT NULL`,
    // Answers on their way to the objects of the batches' files.
    `CREATE TABLE line_ends (
      batch TEXT NOT NULL, line INTEGER NOT NULL, chars INTEGER NOT NULL, answer TEXT NOT NULL, PRIMARY KEY (batch, line)
    )`,
    `UPDATE jobs SET record = json_set(record, '$.batch', NULL, '$.batchPlace', NULL)`,
  ],
  [
    `CREATE TABLE people (
      id TEXT PRIMARY KEY, issuer TEXT NOT NULL, subject TEXT NOT NULL, keys_end_at INTEGER, record TEXT NOT NULL
    ) WITHOUT ROWID`,
    `CREATE UNIQUE INDEX people_by_subject ON people (issuer, subject)`,
    `CREATE INDEX people_by_keys_end ON people (keys_end_at) WHERE keys_end_at IS NOT NULL`,
    `CREATE TABLE person_sessions (
      id TEXT PRIMARY KEY, person_id TEXT NOT NULL, hash TEXT NOT NULL, expires_at INTEGER NOT NULL
    ) WITHOUT ROWID`,
    `CREATE INDEX person_sessions_expiry ON person_sessions (expires_at)`,
    `CREATE INDEX person_sessions_of ON person_sessions (person_id, expires_at)`,
    `CREATE TABLE sign_in_attempts (id INTEGER PRIMARY KEY, record TEXT NOT NULL)`,
    `CREATE TABLE key_grants (
      id TEXT PRIMARY KEY, person_id TEXT NOT NULL, expires_at INTEGER NOT NULL, record TEXT NOT NULL
    ) WITHOUT ROWID`,
    `CREATE INDEX key_grants_expiry ON key_grants (expires_at)`,
    `UPDATE keys SET record = json_set(record, '$.personId', NULL)`,
    `CREATE INDEX keys_of_person ON keys (record ->> '$.personId') WHERE record ->> '$.personId' IS NOT NULL`,
    `UPDATE jobs SET record = json_set(record, '$.createdBy', NULL)`,
  ],
  [
    // Keys for providers that the coordinator calls itself; each is sealed with the deployment's signing secret.
    `CREATE TABLE provider_keys (
      provider TEXT PRIMARY KEY, sealed TEXT NOT NULL, set_at INTEGER NOT NULL, set_by TEXT NOT NULL
    ) WITHOUT ROWID`,
    `UPDATE jobs SET record = json_set(record, '$.edge', json('true'), '$.requestedModel', NULL, '$.tried', json('[]'))`,
    `UPDATE schedules SET record = json_set(record, '$.edge', json('true'))`,
  ],
  // For which groups webhooks were told that capacity is wanted.
  [`CREATE TABLE capacity_notices (group_key TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID`],
  [
    // What workers say of their machines, apart from the records as their models are.
    `CREATE TABLE worker_machines (instance TEXT PRIMARY KEY, machine TEXT NOT NULL)`,
    // Live: not over, or its worker has not reported on it since it was cancelled.
    `CREATE TABLE model_tasks (
      id TEXT PRIMARY KEY, worker TEXT NOT NULL, status TEXT NOT NULL, is_live INTEGER NOT NULL, record TEXT NOT NULL
    ) WITHOUT ROWID`,
    `CREATE INDEX model_tasks_of ON model_tasks (worker, id)`,
    `CREATE INDEX model_tasks_live ON model_tasks (id) WHERE is_live = 1`,
  ],
  [
    // Stored turns of the Responses API, and the sum of their texts.
    `CREATE TABLE responses (
      id TEXT PRIMARY KEY, expires_at INTEGER NOT NULL, chars INTEGER NOT NULL, record TEXT NOT NULL, head TEXT NOT NULL,
      input TEXT, answer TEXT
    )`,
    `CREATE INDEX responses_ending ON responses (expires_at)`,
    `CREATE TABLE response_sums (id INTEGER PRIMARY KEY, chars INTEGER NOT NULL)`,
    // Jobs whose bodies lie outside.
    `CREATE INDEX jobs_with_held_bodies ON jobs (id) WHERE record ->> '$.frontDoor.isBodyHeld'`,
  ],
  [
    // Flows: a waiting job is found by its priority and flow. Jobs of older releases are of one flow.
    `ALTER TABLE jobs ADD COLUMN lane TEXT NOT NULL DEFAULT ''`,
    `UPDATE jobs SET lane = (record ->> '$.priority') || ' /',
      record = json_set(record, '$.fairnessKey', NULL, '$.flow', '/', '$.share', NULL)`,
    `CREATE INDEX jobs_in_lane ON jobs (group_key, lane, order_key, id) WHERE order_key IS NOT NULL`,
    `UPDATE schedules SET record = json_set(record, '$.fairnessKey', NULL)`,
    `UPDATE keys SET record = json_set(record, '$.weight', 1)`,
  ],
  // Keys' limits on tokens; the tables of keys' use have rows for the people of a key, too: `<key id>/<person>`.
  [`ALTER TABLE key_windows ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0`],
  [
    `CREATE TABLE activity (
      kind TEXT NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (kind, at)
    ) WITHOUT ROWID`,
  ],
  // Workers without work, and whether webhooks were told.
  [
    `CREATE TABLE idle_workers (
      instance TEXT PRIMARY KEY, since_at INTEGER NOT NULL, is_told INTEGER NOT NULL
    ) WITHOUT ROWID`,
  ],
  // The person of its key, and the estimate that counted until its worker told what it spent.
  [
    `ALTER TABLE unreported ADD COLUMN fairness_key TEXT`,
    `ALTER TABLE unreported ADD COLUMN is_estimated INTEGER NOT NULL DEFAULT 0`,
    `ALTER TABLE unreported ADD COLUMN estimated_nano_usd INTEGER`,
  ],
  // A slot of latency is one row, with all of its dimensions.
  [
    `CREATE TABLE latency_slots (
      kind TEXT NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (kind, at)
    ) WITHOUT ROWID`,
    `INSERT INTO latency_slots (kind, at, body)
      SELECT kind, at, json_group_object(dimension, json(body)) FROM latency GROUP BY kind, at`,
    `DROP TABLE latency`,
    `ALTER TABLE latency_slots RENAME TO latency`,
  ],
  // Whether a worker's relay may have a data line or calls under way, which is not known of older records.
  [`ALTER TABLE workers ADD COLUMN is_relayed INTEGER NOT NULL DEFAULT 1`],
  // What all files take together: each new file asks for it.
  [
    `CREATE TABLE file_sums (id INTEGER PRIMARY KEY, files INTEGER NOT NULL, bytes INTEGER NOT NULL)`,
    `INSERT INTO file_sums (id, files, bytes) SELECT 0, COUNT(*), COALESCE(SUM(bytes), 0) FROM files`,
  ],
  // The items of stored answers, to which a later request of their key may refer.
  [
    `CREATE TABLE response_items (
      key_id TEXT NOT NULL, item_id TEXT NOT NULL, response_id TEXT NOT NULL, PRIMARY KEY (key_id, item_id, response_id)
    ) WITHOUT ROWID`,
    `CREATE INDEX response_items_of ON response_items (response_id)`,
  ],
  // The admin keys: one of them has to stay.
  [
    `CREATE INDEX keys_to_administer ON keys (id) WHERE record ->> '$.role' = 'admin'
      AND record ->> '$.revokedAt' IS NULL AND record ->> '$.personId' IS NULL`,
  ],
  // A tenant's 100,000 files are counted, and those of a purpose or a key found, without reading their records.
  [
    `DROP INDEX files_newest`,
    `CREATE INDEX files_listed ON files (created_at, id, purpose, owner, is_whole, expires_at)`,
  ],
];
