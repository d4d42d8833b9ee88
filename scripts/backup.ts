// `npm run backup -- <file.tar>`: a consistent copy of the data folder, whether its server runs or not.

import { existsSync, mkdtempSync, renameSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { dataDirAt, dataRoot } from "../self-host/data/data-dir.ts";
import { syncDirectory } from "../self-host/data/kept-secret.ts";
import { ExitError } from "../self-host/exit-error.ts";
import { writeArchive } from "./backup/archive.ts";
import { copyData } from "./backup/copy-data.ts";
import { runOnArchive } from "./backup/run-on-archive.ts";

const USAGE = `Usage: npm run backup -- <file.tar>

Copies the data folder (SERVICE_DATA_DIR, default .data) into a new archive that only its owner can read. A running
server pauses for a moment. The archive contains the keys: protect it like them.`;

/** On the same disk as the archive. */
function folderBeside(target: string): string {
  try {
    return mkdtempSync(path.join(path.dirname(target), ".signalbox-backup-"));
  } catch (error) {
    throw new ExitError(`${path.dirname(target)} cannot be written: ${(error as Error).message}`);
  }
}

async function backup(file: string): Promise<void> {
  const dir = dataDirAt(dataRoot(process.env));
  const target = path.resolve(file);
  if (!existsSync(dir.state)) throw new ExitError(`${dir.root} is not a data folder: set SERVICE_DATA_DIR.`);
  if (existsSync(target)) throw new ExitError(`${target} already exists: choose another name.`);
  const folder = folderBeside(target);
  try {
    const { files, wasRunning } = await copyData(dir, folder);
    const whole = path.join(folder, "whole.tar");
    writeArchive(whole, folder, files);
    // Under its name only when it is whole: a backup that broke off must not look like one.
    renameSync(whole, target);
    syncDirectory(path.dirname(target));
    const databases = files.filter((name) => name.endsWith(".sqlite")).length;
    const size = (statSync(target).size / (1024 * 1024)).toFixed(1);
    console.log(`${target}: ${databases} databases and ${files.length - databases} files, ${size} MiB.`);
    console.log(wasRunning ? `Copied from the running server of ${dir.root}.` : `Copied from ${dir.root}.`);
    for (const name of ["SERVICE_SIGNING_SECRET", "SERVICE_ROOT_KEY"])
      if (process.env[name])
        console.log(`${name} comes from the environment and is not in the archive: keep it separately.`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

await runOnArchive(USAGE, (file) => path.dirname(path.resolve(file)), backup);
