// Runs inside workerd, before anything is served, as a test (`npm start`) or by a request (`npm run dev`): applies what
// d1_migrations does not list yet, one migration and its record in one transaction. The table is wrangler's own, so that
// both can look after the same database.
// Forwards only: a database that a newer release has migrated is left as it is.

const TABLE = `CREATE TABLE IF NOT EXISTS d1_migrations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT UNIQUE,
  applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
)`;

async function migrate(database, migrations) {
  await database.prepare(TABLE).run();
  const { results } = await database.prepare("SELECT name FROM d1_migrations").all();
  const applied = new Set(results.map((row) => row.name));
  const known = new Set(migrations.map(({ name }) => name));
  const unknown = [...applied].filter((name) => !known.has(name));
  if (unknown.length > 0) throw new Error(`a newer release has migrated this database: ${unknown.join(", ")}`);
  for (const { name, queries } of migrations) {
    if (applied.has(name)) continue;
    const record = database.prepare("INSERT INTO d1_migrations (name) VALUES (?)").bind(name);
    try {
      await database.batch([...queries.map((query) => database.prepare(query)), record]);
    } catch (error) {
      throw new Error(`migration ${name}: ${error.message}`);
    }
  }
}

async function migrateAll(env) {
  for (const { binding, migrations } of env.DATABASES) await migrate(env[binding], migrations);
}

export default {
  test: (_controller, env) => migrateAll(env),
  fetch: (_request, env) =>
    migrateAll(env).then(
      () => new Response(),
      ({ message }) => new Response(message, { status: 500 }),
    ),
};
