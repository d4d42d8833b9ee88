// Writes an answer's bytes while they arrive: a stored file, an export. A terminal gets them as text that it cannot obey.

import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Failure } from "./failure.ts";
import { failed, removeFile, writeLocal } from "./local-file.ts";
import type { Output } from "./output.ts";
import { Progress } from "./progress.ts";
import type { Context } from "./verb.ts";

const reasonOf = ({ message, cause }: Error): string => (cause instanceof Error ? cause.message : message);

const showText = async (output: Output, bytes: ReadableStream<Uint8Array>): Promise<void> => {
  const decoder = new TextDecoder();
  for await (const some of bytes) output.raw(decoder.decode(some, { stream: true }));
  output.raw(decoder.decode());
};

/** Into a file, or `-`: onto stdout. The file is opened when there is an answer to write. */
export const writeAnswer = async (
  { output, signal }: Context,
  { body, headers }: Response,
  file: string,
): Promise<void> => {
  const to = await writeLocal(file);
  const isStdout = to === process.stdout;
  const bytes = Number(headers.get("content-length") ?? Number.NaN);
  const progress = new Progress(output, "Fetches it", Number.isNaN(bytes) ? null : bytes);
  try {
    const counted = (body ?? new Blob([]).stream()).pipeThrough(progress.counter());
    if (isStdout && output.isTerminal) await showText(output, counted);
    else await pipeline(Readable.fromWeb(counted as never), to, { end: !isStdout, signal });
  } catch (error) {
    if (!isStdout) await removeFile(file);
    if (signal.aborted) throw error;
    throw (error as NodeJS.ErrnoException).syscall === "write"
      ? failed(isStdout ? "stdout" : file, "written", error as NodeJS.ErrnoException)
      : new Failure(`The answer broke off: ${reasonOf(error as Error)}. Run the command again.`);
  } finally {
    progress.end();
  }
};

export const fetchFile = async (context: Context, id: string, file: string): Promise<void> =>
  writeAnswer(context, await context.client().files.content(id, { signal: context.signal }), file);
