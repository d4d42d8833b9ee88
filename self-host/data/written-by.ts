// The release that last served from the data folder. Objects migrate one by one as they wake, long after the start.
// This mark, written before anything is served, lets an older release refuse the whole folder instead of failing tenant
// by tenant. Invariant: no object's tables are newer than the mark says. A folder without a mark is judged by its
// objects.

import { readFileSync } from "node:fs";
import { VERSION } from "../../contract/words/version.ts";
import { SCHEMA_VERSION } from "../../durable-objects/store/schema/schema.ts";
import { ExitError } from "../exit-error.ts";
import type { DataDir } from "./data-dir.ts";
import { writeKept } from "./kept-secret.ts";

interface Mark {
  release: string;
  object_schema: number;
}

function readMark(dir: DataDir): Mark | undefined {
  try {
    return JSON.parse(readFileSync(dir.writtenBy, "utf8")) as Mark;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    const why = (error as Error).message.replaceAll("\n", " ");
    throw new ExitError(
      `${dir.writtenBy} cannot be read (${why}), so it is unknown which release has written the folder. Nothing was ` +
        "changed. If it was this release or an earlier one, delete that file and start again.",
    );
  }
}

/** Before anything is changed: ends the start if a newer release has written the folder. */
export function refuseNewerState(dir: DataDir): void {
  const mark = readMark(dir);
  if (mark === undefined || mark.object_schema <= SCHEMA_VERSION) return;
  throw new ExitError(
    `Signalbox ${mark.release} has written ${dir.root} (schema ${mark.object_schema}); this is ${VERSION}, which knows ` +
      `schema ${SCHEMA_VERSION}. Nothing was changed. Start that release again, or restore a backup made before it.`,
  );
}

/** Before anything is served. */
export function markState(dir: DataDir): void {
  const mark: Mark = { release: VERSION, object_schema: SCHEMA_VERSION };
  writeKept(dir.writtenBy, JSON.stringify(mark));
}
