// The files of an ordinary job as a chat takes them: behind the prompt, an image as a part, a text as it reads. Of
// another type a chat has no part: it is refused by its name, never left out.

import type { LeasedJob } from "../../contract/fleet/worker.ts";
import { type ChatBody, type ChatBodyResult, unsupportedInput } from "./chat-body.ts";
import type { RunOptions } from "./runtime.ts";

type LeasedFile = LeasedJob["files"][number];

/** All of a job, which are held while they become a part of the request. */
const MAX_MIB = 16;

const IMAGE = /^image\/(png|jpeg|gif|webp)\b/;
const TEXT = /^(text\/|application\/(json|xml|yaml)\b)/;

export const withFiles = async (
  body: ChatBody,
  files: readonly LeasedFile[],
  open: RunOptions["openFile"],
): Promise<ChatBodyResult> => {
  if (files.length === 0 || open === undefined) return { ok: true, body };
  const other = files.find(({ content_type: type }) => !IMAGE.test(type) && !TEXT.test(type));
  if (other !== undefined) {
    const what = "a chat takes PNG, JPEG, GIF, WebP and text; a program as worker takes any file";
    return refused(`files: ${other.name} is ${other.content_type}; ${what}`);
  }
  if (files.reduce((sum, { bytes }) => sum + bytes, 0) > MAX_MIB << 20)
    return refused(`files: together they are over the ${MAX_MIB} MiB that a chat takes`);
  const parts = await Promise.all(files.map((file) => partOf(file, open)));
  const [prompt] = body.messages.slice(-1) as { role: string; content: string }[];
  const content = [{ type: "text", text: prompt?.content }, ...parts];
  return { ok: true, body: { ...body, messages: [...body.messages.slice(0, -1), { ...prompt, content }] } };
};

const partOf = async (file: LeasedFile, open: NonNullable<RunOptions["openFile"]>): Promise<object> => {
  const pieces: Uint8Array[] = [];
  for await (const piece of await open(file)) pieces.push(piece);
  const bytes = Buffer.concat(pieces);
  const image = IMAGE.exec(file.content_type)?.[0];
  return image === undefined
    ? { type: "text", text: `${file.name}:\n${bytes.toString()}` }
    : { type: "image_url", image_url: { url: `data:${image};base64,${bytes.toString("base64")}` } };
};

const refused = (message: string): ChatBodyResult => ({ ok: false, error: unsupportedInput(message) });
