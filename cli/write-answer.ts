// Writes an answer's bytes while they arrive: a stored file, an export.

import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Progress } from "./progress.ts";
import type { Context } from "./verb.ts";

/** `to` is ended, unless it is the process's own output. */
export const writeAnswer = async (
  { output, signal }: Context,
  { body, headers }: Response,
  to: Writable,
): Promise<void> => {
  const bytes = Number(headers.get("content-length") ?? Number.NaN);
  const progress = new Progress(output, "Fetches it", Number.isNaN(bytes) ? null : bytes);
  try {
    const counted = Readable.fromWeb((body ?? new Blob([]).stream()).pipeThrough(progress.counter()) as never);
    await pipeline(counted, to, { end: to !== process.stdout, signal });
  } finally {
    progress.end();
  }
};

export const fetchFile = async (context: Context, id: string, to: Writable): Promise<void> =>
  writeAnswer(context, await context.client().files.content(id, { signal: context.signal }), to);
