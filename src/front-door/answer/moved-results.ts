// The results of a batch whose tenant came from another deployment: its lines stayed there, and its two files came here,
// in OpenAI's form. First those that succeeded, then the others.

import { anthropicLine } from "../../../domain/batch/line-answer.ts";
import { readBytes, TO_THE_END } from "../../files/objects.ts";
import type { AppContext } from "../../http/auth.ts";
import type { TokenFacts } from "../../http/key-format.ts";
import { writtenBody } from "./written-body.ts";

interface BatchFiles {
  readonly output: string | null;
  readonly errors: string | null;
}

/** A line at a time: one ends with each line feed. */
const eachLine = (told: (line: string) => string): TransformStream<string, string> => {
  let begun = "";
  return new TransformStream({
    transform: (chunk, controller) => {
      const lines = (begun + chunk).split("\n");
      begun = lines.pop() ?? "";
      if (lines.length > 0) controller.enqueue(lines.map(told).join(""));
    },
  });
};

export const movedResults = (
  c: AppContext,
  token: TokenFacts,
  { output, errors }: BatchFiles,
): ReadableStream<Uint8Array> => {
  const body = writtenBody();
  const write = async (id: string | null, hasSucceeded: boolean): Promise<void> => {
    if (id === null) return;
    const bytes = await readBytes({ env: c.env, name: token, id }, 0, TO_THE_END);
    const lines = bytes
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(eachLine((line) => anthropicLine(line, hasSucceeded)))
      .pipeThrough(new TextEncoderStream());
    await body.pipe(lines, { preventClose: true });
  };
  const done = write(output, true)
    .then(() => write(errors, false))
    .then(() => body.close());
  c.executionCtx.waitUntil(done.catch((error) => body.abort(error).catch(() => undefined)));
  return body.readable;
};
