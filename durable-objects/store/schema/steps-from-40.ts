// Steps 40 to 59 of the object's schema (`schema.ts`).

export const FROM_40 = [
  // Deliveries of a status are counted and found without reading the others.
  [`DROP INDEX deliveries_of`, `CREATE INDEX deliveries_of ON deliveries (webhook_id, id, status)`],
  // Where the files and batches that were deleted last stood in their lists.
  [
    `CREATE TABLE left_places (
      n INTEGER PRIMARY KEY, id TEXT NOT NULL, owner TEXT, created_at INTEGER NOT NULL
    )`,
  ],
  [
    // Answers stand in the order in which they were given. Among their keys, which most clients make in no order, each
    // look read pages that were not at hand, and each write moved others.
    `CREATE TABLE first_answers (
      n INTEGER PRIMARY KEY, key_id TEXT NOT NULL, scope TEXT NOT NULL, key TEXT NOT NULL,
      body_hash TEXT NOT NULL, answer TEXT NOT NULL, expires_at INTEGER NOT NULL
    )`,
    `INSERT INTO first_answers (key_id, scope, key, body_hash, answer, expires_at)
      SELECT key_id, scope, key, body_hash, answer, expires_at FROM idempotency ORDER BY expires_at`,
    `DROP TABLE idempotency`,
    `ALTER TABLE first_answers RENAME TO idempotency`,
    `CREATE UNIQUE INDEX idempotency_keys ON idempotency (key, scope, key_id)`,
    `CREATE INDEX idempotency_expiry ON idempotency (expires_at)`,
  ],
  [`ALTER TABLE unreported ADD COLUMN estimated_input_tokens INTEGER`],
  [
    // What the files of each owner take stands beside what all do.
    `DROP TABLE file_sums`,
    `CREATE TABLE file_sums (owner TEXT PRIMARY KEY, files INTEGER NOT NULL, bytes INTEGER NOT NULL)`,
    `INSERT INTO file_sums (owner, files, bytes) SELECT '', COUNT(*), COALESCE(SUM(bytes), 0) FROM files
      UNION ALL SELECT owner, COUNT(*), SUM(bytes) FROM files WHERE owner IS NOT NULL GROUP BY owner`,
  ],
];
