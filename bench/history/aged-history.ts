// The history of a server that does not run, made older, with the minute's work due at the next start.

import { readdirSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";

const NS_A_MS = 1_000_000;

const databasesIn = (...folder: string[]): { name: string; open: () => DatabaseSync }[] =>
  readdirSync(path.join(...folder))
    .filter((name) => name.endsWith(".sqlite"))
    .map((name) => ({ name, open: () => new DatabaseSync(path.join(...folder, name)) }));

/** Also while the server runs. */
export const historyOfServer = (dataDir: string): DatabaseSync => {
  const found = databasesIn(dataDir, "state", "d1", "D1Database").find(({ name }) => name !== "metadata.sqlite");
  if (found === undefined) throw new Error(`${dataDir} has no history`);
  return found.open();
};

/** Every job ended so much earlier. The runtime keeps the time of the minute's work in two places. */
export const ageHistory = (dataDir: string, ms: number): void => {
  const history = historyOfServer(dataDir);
  history.prepare("UPDATE jobs SET finished_at = finished_at - ?").run(ms);
  history.close();
  for (const { name, open } of databasesIn(dataDir, "state", "cron", "Schedule")) {
    const cron = open();
    cron.exec(
      name === "metadata.sqlite"
        ? `UPDATE _cf_ALARM SET scheduled_time = scheduled_time - ${ms * NS_A_MS}`
        : `UPDATE _cf_METADATA SET value = value - ${ms * NS_A_MS} WHERE key = 1`,
    );
    cron.close();
  }
};
