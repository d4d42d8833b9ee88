// The data folder: its layout, and the lock against a second server. The lock is an open SQLite transaction: the system
// releases it with the process, also after kill -9, so there are no stale locks and no reused process ids.

import { accessSync, chmodSync, constants, existsSync, mkdirSync, statSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { ExitError } from "../exit-error.ts";
import { filesBelow } from "../files-below.ts";
import { ROOT } from "../run-command.ts";

/** How long a start waits for the previous server, which may still be giving back its worker's jobs. */
const LOCK_WAIT_MS = 15_000;
const LOCK_POLL_MS = 100;

export interface DataDir {
  root: string;
  objects: string;
  databases: string;
  crons: string;
  /** Jobs that have left the history, where SERVICE_ARCHIVE is 1. */
  archive: string;
  /** Everything the runtime writes: the three folders above. */
  state: string;
  servingConfig: string;
  historyConfig: string;
  migrationConfig: string;
  migrationWorker: string;
  rootKey: string;
  signingSecret: string;
  adminKey: string;
  workerKey: string;
  /** The socket on which a backup asks the server to pause. */
  freezePath: string;
  /** The release that last served from the folder. */
  writtenBy: string;
  /** How many object processes the folder was created for. */
  processCount: string;
  /** Exists from before the first start until the admin key is kept. */
  firstStart: string;
}

/** SERVICE_DATA_DIR; a relative one is below the checkout. */
export const dataRoot = (env: NodeJS.ProcessEnv): string => path.resolve(ROOT, env.SERVICE_DATA_DIR || ".data");

export const dataDirAt = (root: string): DataDir => {
  const state = path.join(root, "state");
  return {
    root,
    state,
    objects: path.join(state, "objects"),
    databases: path.join(state, "d1"),
    crons: path.join(state, "cron"),
    archive: path.join(root, "archive"),
    servingConfig: path.join(root, "serving.capnp"),
    historyConfig: path.join(root, "history.capnp"),
    migrationConfig: path.join(root, "migration.capnp"),
    migrationWorker: path.join(root, "migration-worker.js"),
    rootKey: path.join(root, "root.key"),
    signingSecret: path.join(root, "signing.secret"),
    adminKey: path.join(root, "default.admin.key"),
    workerKey: path.join(root, "default.worker.key"),
    freezePath: path.join(root, "freeze.path"),
    writtenBy: path.join(root, "written-by.json"),
    processCount: path.join(root, "processes.json"),
    firstStart: path.join(root, "first-start"),
  };
};

/**
 * Makes a folder, private to its owner, and those above it. Node's own recursion never ends where a file system takes no
 * folders, as `/proc`.
 */
export const makeFolder = (folder: string): void => {
  const isThere = (): boolean => statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isThere()) return;
  const above = path.dirname(folder);
  // On Windows a drive may be missing.
  if (above !== folder) makeFolder(above);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another server's start may have made it.
    if (!isThere()) throw error;
  }
};

export const makeStateFolders = (dir: DataDir): void => {
  for (const folder of [dir.objects, dir.databases, dir.crons]) mkdirSync(folder, { recursive: true, mode: 0o700 });
};

/** Creates the folder, private to its owner, and locks it for this process. Keep a reference to the result. */
export const lockDataDir = async (dir: DataDir): Promise<DatabaseSync> => {
  const lock = openLock(dir);
  const giveUpAt = Date.now() + LOCK_WAIT_MS;
  let isWaiting = false;
  while (!tryLock(lock)) {
    if (Date.now() > giveUpAt) {
      throw new ExitError(`Another server is using ${dir.root}. Stop it, or set SERVICE_DATA_DIR to another folder.`);
    }
    if (!isWaiting) console.error(`Waiting for the server that is using ${dir.root} to stop …`);
    isWaiting = true;
    await pause(LOCK_POLL_MS);
  }
  return lock;
};

const openLock = (dir: DataDir): DatabaseSync => {
  try {
    makeFolder(dir.root);
    chmodSync(dir.root, 0o700);
    const file = path.join(dir.root, "lock.sqlite");
    const lock = new DatabaseSync(file);
    chmodSync(file, 0o600);
    return lock;
  } catch (error) {
    const why = (error as Error).message;
    throw new ExitError(`The data folder ${dir.root} cannot be used: ${why}. Set SERVICE_DATA_DIR to another folder.`);
  }
};

/** Ends the start if a file was left by another user, e.g. by a start as root: later it would fail far from its cause. */
export const requireWritable = (dir: DataDir): void => {
  const { R_OK, W_OK, X_OK } = constants;
  const made = (...places: string[]): string[] => places.filter((place) => existsSync(place));
  const kept = made(dir.rootKey, dir.signingSecret, dir.adminKey, dir.workerKey, dir.writtenBy, dir.processCount);
  const written = made(dir.servingConfig, dir.historyConfig, dir.migrationConfig, dir.migrationWorker);
  try {
    for (const folder of made(dir.state, dir.objects, dir.databases, dir.crons)) accessSync(folder, R_OK | W_OK | X_OK);
    for (const file of made(dir.state).flatMap(filesBelow)) accessSync(file, R_OK | W_OK);
    for (const file of written) accessSync(file, R_OK | W_OK);
    for (const file of kept) accessSync(file, R_OK);
  } catch (error) {
    const { code, path: file = dir.root } = error as NodeJS.ErrnoException;
    if (code !== "EACCES") throw error;
    throw new ExitError(
      `This user may not read and write ${file}. Give ${dir.root} and all that is in it to the user that runs the ` +
        "server (`chown -R`), or start as the user it belongs to. Nothing was changed.",
    );
  }
};

/** Locks the folder if no server uses it; null if one does. */
export const lockIfFree = (dir: DataDir): DatabaseSync | null => {
  const lock = openLock(dir);
  if (tryLock(lock)) return lock;
  lock.close();
  return null;
};

const tryLock = (lock: DatabaseSync): boolean => {
  try {
    lock.exec("BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    if (/database is locked/.test((error as Error).message)) return false;
    throw error;
  }
};
