// A client's form as its runtime gets it: the same fields and files in the same order. A file passes from its link to
// the runtime while it arrives; the length is known before, because many runtimes refuse a body without one.

import type { LeasedJob } from "../../contract/fleet/worker.ts";
import { isObject, type JsonObject } from "../../contract/text/json-object.ts";

type LeasedFile = LeasedJob["files"][number];

export type FormBody = {
  type: string;
  bytes: number;
  pieces: () => AsyncGenerator<Uint8Array>;
};

/** Opens a file of the job. */
type OpenFile = (file: LeasedFile) => Promise<AsyncIterable<Uint8Array>>;

type FormPart = { head: Uint8Array; content: Uint8Array | LeasedFile };

/** @throws Error if the job does not have a file that its form names. */
export const formBody = (fields: JsonObject, files: readonly LeasedFile[], open: OpenFile): FormBody => {
  const boundary = `signalbox-${crypto.randomUUID()}`;
  const parts = Object.entries(fields).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one) => partOf(boundary, name, one, files)),
  );
  const end = Buffer.from(`--${boundary}--\r\n`);
  const bytes = parts.reduce((sum, part) => sum + sizeOf(part), end.byteLength);
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (const { head, content } of parts) {
      yield head;
      if (content instanceof Uint8Array) yield content;
      else yield* await open(content);
      yield LINE_BREAK;
    }
    yield end;
  }
  return { type: `multipart/form-data; boundary=${boundary}`, bytes, pieces };
};

const LINE_BREAK = Buffer.from("\r\n");

const sizeOf = ({ head, content }: FormPart): number =>
  head.byteLength + (content instanceof Uint8Array ? content.byteLength : content.bytes) + LINE_BREAK.byteLength;

/** As browsers escape a name. */
const quoted = (name: string): string =>
  `"${name.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A")}"`;

const partOf = (boundary: string, name: string, value: unknown, files: readonly LeasedFile[]): FormPart => {
  const start = `--${boundary}\r\nContent-Disposition: form-data; name=${quoted(name)}`;
  if (!isObject(value)) {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return { head: Buffer.from(`${start}\r\n\r\n`), content: Buffer.from(text) };
  }
  const file = files.find(({ id }) => id === value.file);
  if (file === undefined) throw new Error(`the job has no file for the field ${name}`);
  const about = `; filename=${quoted(file.name)}\r\nContent-Type: ${file.content_type}\r\n\r\n`;
  return { head: Buffer.from(start + about), content: file };
};
