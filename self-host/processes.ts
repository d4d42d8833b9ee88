// How many processes share the tenants of a data folder. The number decides in which folder a tenant's object lies, so
// it is fixed when the folder is created: `processes.json` keeps it, and a folder without that file has one.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Share } from "../domain/tenant/share.ts";
import type { DataDir } from "./data-dir.ts";
import { ExitError } from "./exit-error.ts";
import { syncDirectory } from "./kept-secret.ts";

const MAX_PROCESSES = 64;

export function readProcessCount(text: string | undefined): number | undefined {
  if (!text) return undefined;
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && count <= MAX_PROCESSES) return count;
  throw new ExitError(`SERVICE_PROCESSES is "${text}": give a number from 1 to ${MAX_PROCESSES}.`, 2);
}

/** The number that the folder was created with; a new folder gets the wanted number. */
export function keepProcessCount(dir: DataDir, wanted: number | undefined): number {
  const kept = keptCount(dir);
  if (kept === undefined) return makeProcesses(dir, wanted ?? 1);
  if (wanted === undefined || wanted === kept) return kept;
  throw new ExitError(
    `${dir.root} was created for ${kept} object process${kept === 1 ? "" : "es"}, but SERVICE_PROCESSES asks for ${wanted}. ` +
      `The number is fixed when a data folder is created: set SERVICE_PROCESSES=${kept}, or start with another folder.`,
  );
}

function keptCount(dir: DataDir): number | undefined {
  if (existsSync(dir.processCount))
    return (JSON.parse(readFileSync(dir.processCount, "utf8")) as { count: number }).count;
  return existsSync(dir.state) ? 1 : undefined;
}

function makeProcesses(dir: DataDir, count: number): number {
  writeFileSync(dir.processCount, `${JSON.stringify({ count })}\n`, { mode: 0o600, flush: true });
  syncDirectory(dir.root);
  return count;
}

/** The first process uses the folders of a single process. */
export function storageOf(dir: DataDir, { index }: Share): { objects: string; crons: string } {
  return index === 0
    ? { objects: dir.objects, crons: dir.crons }
    : { objects: `${dir.objects}-${index}`, crons: `${dir.crons}-${index}` };
}
