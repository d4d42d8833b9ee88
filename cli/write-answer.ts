// Writes an answer's bytes while they arrive: a stored file, an export.

import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { writeLocal } from "./local-file.ts";
import { Progress } from "./progress.ts";
import type { Context } from "./verb.ts";

/** Into a file, or `-`: onto stdout. The file is opened when there is an answer to write. */
export const writeAnswer = async (
  { output, signal }: Context,
  { body, headers }: Response,
  file: string,
): Promise<void> => {
  const to = await writeLocal(file);
  const bytes = Number(headers.get("content-length") ?? Number.NaN);
  const progress = new Progress(output, "Fetches it", Number.isNaN(bytes) ? null : bytes);
  try {
    const counted = Readable.fromWeb((body ?? new Blob([]).stream()).pipeThrough(progress.counter()) as never);
    await pipeline(counted, to, { end: to !== process.stdout, signal });
  } finally {
    progress.end();
  }
};

export const fetchFile = async (context: Context, id: string, file: string): Promise<void> =>
  writeAnswer(context, await context.client().files.content(id, { signal: context.signal }), file);
