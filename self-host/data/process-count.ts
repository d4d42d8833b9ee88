// How many processes share the tenants of a data folder. The number decides in which folder a tenant's object lies, so
// it is fixed when the folder is created: `processes.json` keeps it, and a folder without that file has one.

import { existsSync, readFileSync } from "node:fs";
import { objectOf, parseJson } from "../../contract/text/json-object.ts";
import type { ProcessShare } from "../../domain/tenant/share.ts";
import { ExitError } from "../exit-error.ts";
import type { DataDir } from "./data-dir.ts";
import { writeKept } from "./kept-secret.ts";

const MAX_PROCESSES = 64;

const isCount = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_PROCESSES;

export function readProcessCount(text: string | undefined): number | undefined {
  if (!text) return undefined;
  const count = Number(text);
  if (/^\d+$/.test(text) && isCount(count)) return count;
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
  if (!existsSync(dir.processCount)) return existsSync(dir.state) ? 1 : undefined;
  const { count } = objectOf(parseJson(readFileSync(dir.processCount, "utf8")));
  if (isCount(count)) return count;
  throw new ExitError(`${dir.processCount} is damaged: write {"count":1} there, or the number of its object folders.`);
}

function makeProcesses(dir: DataDir, count: number): number {
  writeKept(dir.processCount, JSON.stringify({ count }));
  return count;
}

/** The first process uses the folders of a single process. */
export function storageOf(dir: DataDir, { index }: ProcessShare): { objects: string; crons: string } {
  return index === 0
    ? { objects: dir.objects, crons: dir.crons }
    : { objects: `${dir.objects}-${index}`, crons: `${dir.crons}-${index}` };
}
