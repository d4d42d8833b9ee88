// A consistent copy of a data folder: every database as of one instant, and the keys and marker files.

import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import path from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { type DataDir, lockIfFree } from "../../self-host/data/data-dir.ts";
import { isEmptied } from "../../self-host/data/emptied.ts";
import { databasesBelow, filesBelow } from "../../self-host/files-below.ts";
import { whileFrozen } from "../../self-host/freeze.ts";

/** A database may be locked briefly during a write. */
const TRIES = 20;
const PAGES_AT_A_TIME = 10_000;

interface Snapshot {
  readonly file: string;
  readonly database: DatabaseSync;
}

interface Copied {
  /** Paths relative to the data folder. */
  readonly files: readonly string[];
  readonly wasRunning: boolean;
}

const databasesOf = ({ state, root }: DataDir): string[] =>
  databasesBelow(state)
    .filter((file) => !isEmptied(file))
    .map((file) => path.relative(root, file));

const besideOf = (dir: DataDir): string[] =>
  [dir.rootKey, dir.signingSecret, dir.adminKey, dir.workerKey, dir.writtenBy, dir.processCount]
    .filter((file) => existsSync(file))
    .map((file) => path.relative(dir.root, file));

const archivedOf = ({ archive, root }: DataDir): string[] =>
  existsSync(archive)
    ? filesBelow(archive)
        .filter((file) => file.endsWith(".ndjson.gz"))
        .map((file) => path.relative(root, file))
    : [];

/** A read transaction keeps the database's current content, whatever is written later. */
const openSnapshot = (root: string, file: string): Snapshot => {
  const database = new DatabaseSync(path.join(root, file));
  database.exec("BEGIN");
  database.prepare("SELECT COUNT(*) FROM sqlite_master").get();
  return { file, database };
};

const openAll = (dir: DataDir): Snapshot[] => {
  const opened: Snapshot[] = [];
  try {
    for (const file of databasesOf(dir)) opened.push(openSnapshot(dir.root, file));
    return opened;
  } catch (error) {
    for (const { database } of opened) database.close();
    throw error;
  }
};

const snapshotsOfRunning = async (dir: DataDir): Promise<Snapshot[]> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await whileFrozen(dir, () => openAll(dir));
    } catch (error) {
      const isBusy = /locked|busy/i.test((error as Error).message);
      if (!isBusy || tries >= TRIES) throw error;
    }
  }
};

const copyIfThere = (root: string, target: string, file: string): boolean => {
  const place = path.join(target, file);
  mkdirSync(path.dirname(place), { recursive: true, mode: 0o700 });
  try {
    copyFileSync(path.join(root, file), place);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
};

/** Into `target`, which must be empty. */
export const copyData = async (dir: DataDir, target: string): Promise<Copied> => {
  const lock = lockIfFree(dir);
  try {
    const snapshots = lock === null ? await snapshotsOfRunning(dir) : openAll(dir);
    // A part never changes, and those that the databases name are there before them.
    const archived = archivedOf(dir);
    for (const { file, database } of snapshots) {
      const place = path.join(target, file);
      mkdirSync(path.dirname(place), { recursive: true, mode: 0o700 });
      await backup(database, place, { rate: PAGES_AT_A_TIME });
      database.close();
    }
    // A tenant that is deleted meanwhile takes its parts along.
    const beside = [...besideOf(dir), ...archived].filter((file) => copyIfThere(dir.root, target, file));
    return { files: [...beside, ...snapshots.map(({ file }) => file)], wasRunning: lock === null };
  } finally {
    lock?.close();
  }
};
