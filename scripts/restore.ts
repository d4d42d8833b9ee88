// `npm run restore -- <file.tar>`: makes a data folder from an archive of `npm run backup`. Overwrites nothing.

import { existsSync, lchownSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { dataDirAt, dataRoot, makeFolder } from "../self-host/data/data-dir.ts";
import { refuseNewerState } from "../self-host/data/written-by.ts";
import { ExitError } from "../self-host/exit-error.ts";
import { readArchive } from "./backup/archive.ts";
import { runOnArchive } from "./backup/run-on-archive.ts";

const USAGE = `Usage: npm run restore -- <file.tar>

Creates the data folder (SERVICE_DATA_DIR, default .data) from an archive of \`npm run backup\`. The folder must not
exist or must be empty. Then start the server: npm start.`;

const DRAFT = ".restoring";
/** What an empty folder may have: what an interrupted restore left, and what a disk's own folder has. */
const NOTHING: ReadonlySet<string> = new Set([DRAFT, "lost+found"]);

/** SQLite's own check of every page. */
const refuseDamaged = (root: string, name: string): void => {
  const database = new DatabaseSync(path.join(root, name));
  let found: string;
  try {
    found = (database.prepare("PRAGMA integrity_check").get() as { integrity_check: string }).integrity_check;
  } catch (error) {
    found = (error as Error).message;
  }
  database.close();
  if (found !== "ok") throw new ExitError(`${name} in the archive is damaged: ${found}`);
};

/**
 * A folder that is there stays itself: it may be a mount, or a service's own where that may make no other. What root
 * restores into it belongs to its owner, who is to serve from it.
 */
const fill = (root: string, draft: string): void => {
  const { uid, gid } = statSync(root);
  const names = readdirSync(draft, { recursive: true, encoding: "utf8" });
  if (process.getuid?.() === 0) for (const name of names) lchownSync(path.join(draft, name), uid, gid);
  for (const name of readdirSync(draft)) renameSync(path.join(draft, name), path.join(root, name));
};

async function restore(file: string): Promise<void> {
  const root = dataRoot(process.env);
  if (!existsSync(file)) throw new ExitError(`${file} does not exist.`);
  const isThere = existsSync(root);
  if (isThere && readdirSync(root).some((name) => !NOTHING.has(name)))
    throw new ExitError(`${root} is not empty: move it away, or set SERVICE_DATA_DIR to another folder.`);
  const draft = isThere ? path.join(root, DRAFT) : `${root}${DRAFT}`;
  rmSync(draft, { recursive: true, force: true });
  makeFolder(draft);
  try {
    const names = readArchive(path.resolve(file), draft);
    const databases = names.filter((name) => name.endsWith(".sqlite"));
    for (const name of databases) refuseDamaged(draft, name);
    refuseNewerState(dataDirAt(draft));
    if (isThere) fill(root, draft);
    else renameSync(draft, root);
    console.log(`${root}: ${databases.length} databases and ${names.length - databases.length} files.`);
    const folder = process.env.SERVICE_DATA_DIR ? `SERVICE_DATA_DIR=${process.env.SERVICE_DATA_DIR} ` : "";
    console.log(`Start the server with: ${folder}npm start`);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

await runOnArchive(USAGE, () => dataRoot(process.env), restore);
