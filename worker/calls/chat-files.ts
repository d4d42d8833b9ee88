// The files of an ordinary job as a chat takes them: behind the prompt, an image as a part, a text as it reads. A
// file of another type is refused by its name, never left out.

import type { LeasedJob } from "../../contract/fleet/worker.ts";
import { reasonOf } from "../../contract/text/error-causes.ts";
import { type ChatBody, type ChatBodyResult, unsupportedInput } from "./chat-body.ts";
import type { RunOptions } from "./runtime.ts";

type LeasedFile = LeasedJob["files"][number];
type ChatPart = { type: "text"; text: string } | { type: "image_url"; image_url: { url: string } };

/** All of a job, which are held while they become a part of the request. */
const MAX_MIB = 16;

const IMAGE = /^image\/(png|jpeg|gif|webp)(?=\s*(;|$))/i;
const TEXT = /^(text\/|application\/([\w.-]+[+-])?(ndjson|jsonl?|xml|yaml)\s*(;|$))/i;
/** Nobody said what it is, as of most uploads by OpenAI's client: its bytes do. */
const UNTOLD = /^application\/octet-stream/i;
const CHARSET = /;\s*charset="?([^";\s]+)/i;

/** How each image begins. */
const BEGINNINGS = [
  ["image/png", /^\x89PNG/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8/],
  ["image/webp", /^RIFF.{4}WEBP/s],
] as const;
const BEGINNING_BYTES = 12;

export const withFiles = async (
  body: ChatBody,
  files: readonly LeasedFile[],
  { openFile, signal }: Pick<RunOptions, "openFile" | "signal">,
): Promise<ChatBodyResult> => {
  if (files.length === 0 || openFile === undefined) return { ok: true, body };
  const other = files.find(({ content_type: type }) => ![IMAGE, TEXT, UNTOLD].some((known) => known.test(type)));
  if (other !== undefined) return refused(other, other.content_type);
  if (files.reduce((sum, { bytes }) => sum + bytes, 0) > MAX_MIB << 20)
    return { ok: false, error: unsupportedInput(`files: together they are over the ${MAX_MIB} MiB that a chat takes`) };
  const contents = await Promise.all(files.map((file) => readWhole(file, openFile))).catch(reasonOf);
  signal.throwIfAborted();
  if (typeof contents === "string")
    return {
      ok: false,
      error: { code: "input_unavailable", message: `The job's files: ${contents}`, retryable: true },
    };
  const [prompt] = body.messages.slice(-1) as { role: string; content: string }[];
  const parts: ChatPart[] = [{ type: "text", text: prompt?.content ?? "" }];
  for (const [index, file] of files.entries()) {
    const part = partOf(file, contents[index] as Buffer);
    if (part === null) return refused(file, `neither an image nor text in ${charsetOf(file)}`);
    parts.push(part);
  }
  const turn = { ...prompt, content: contentOf(parts) };
  return { ok: true, body: { ...body, messages: [...body.messages.slice(0, -1), turn] } };
};

const readWhole = async (file: LeasedFile, open: NonNullable<RunOptions["openFile"]>): Promise<Buffer> => {
  const pieces: Uint8Array[] = [];
  for await (const piece of await open(file)) pieces.push(piece);
  return Buffer.concat(pieces);
};

/** Null: it is nothing that a chat has. */
const partOf = (file: LeasedFile, bytes: Buffer): ChatPart | null => {
  const [told] = IMAGE.exec(file.content_type) ?? [];
  const image = told?.toLowerCase() ?? (UNTOLD.test(file.content_type) ? imageIn(bytes) : undefined);
  if (image !== undefined)
    return { type: "image_url", image_url: { url: `data:${image};base64,${bytes.toString("base64")}` } };
  try {
    const text = new TextDecoder(charsetOf(file), { fatal: true, ignoreBOM: false }).decode(bytes);
    return { type: "text", text: `${file.name}:\n${text}` };
  } catch {
    return null;
  }
};

const imageIn = (bytes: Buffer): string | undefined => {
  const beginning = bytes.toString("latin1", 0, BEGINNING_BYTES);
  return BEGINNINGS.find(([, begins]) => begins.test(beginning))?.[0];
};

const charsetOf = ({ content_type: type }: LeasedFile): string => CHARSET.exec(type)?.[1] ?? "utf-8";

/** Some providers know no parts: without an image the turn stays a text. */
const contentOf = (parts: readonly ChatPart[]): string | readonly ChatPart[] => {
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return texts.length === parts.length ? texts.join("\n\n") : parts;
};

const refused = ({ name }: LeasedFile, is: string): ChatBodyResult => ({
  ok: false,
  error: unsupportedInput(
    `files: ${name} is ${is}; a chat takes PNG, JPEG, GIF, WebP and text; a program as worker takes any file`,
  ),
});
