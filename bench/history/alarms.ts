// Alarms that objects have set, read from workerd's files. An alarm that is due when a server starts wakes its object
// before any request.

import { readdirSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";

const POLL_MS = 100;
const GIVE_UP_MS = 60_000;

/** Waits until no object below the folder has an alarm. */
export const untilNoAlarm = async (folder: string): Promise<void> => {
  for (const giveUpAt = performance.now() + GIVE_UP_MS; alarmsBelow(folder) > 0; await pause(POLL_MS)) {
    if (performance.now() > giveUpAt) throw new Error("an object keeps setting alarms");
  }
};

const alarmsBelow = (folder: string): number => {
  let alarms = 0;
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (path.basename(name) !== "metadata.sqlite") continue;
    const database = new DatabaseSync(path.join(folder, name), { readOnly: true });
    alarms += Number(database.prepare("SELECT COUNT(*) AS count FROM _cf_ALARM").get()?.count);
    database.close();
  }
  return alarms;
};
