// Files on the wire: Signalbox's own form. OpenAI's form of the same files is in `openai-file.ts`.

import * as z from "zod";
import { FILE_LIFE_MS, type FileRecord, LINK_SECONDS } from "../domain/file/file.ts";
import { idsOf } from "../domain/words/event.ts";
import { count, digits, identifier, instant, isCleanText, label, listQuery, page, toIso } from "./words/field.ts";

export const MAX_FILE_NAME_CHARS = 255;
const shortest = FILE_LIFE_MS.shortest / 1000;
const longest = FILE_LIFE_MS.longest / 1000;

export const fileId = identifier(/^file-[A-Za-z0-9_-]+$/, 64, "`file-` and characters from A-Z a-z 0-9 _ -");
export const fileIdParam = z.object({ id: fileId });
export const purpose = identifier(/^[a-z][a-z0-9_-]*$/, 64, "a letter, then characters from a-z 0-9 _ -");

/** A form's field with a file, for the document. */
export const fileBytes = z.string().meta({ format: "binary" });

/** URLs cannot name them. */
const DOTS = /^\.{1,2}$/;

/** A name is for people: the part behind the last slash, without control characters, cut between characters. */
export const cleanFileName = (given: string | null | undefined, fallback: string): string => {
  const last = (given ?? "").split(/[/\\]/).at(-1) ?? "";
  const clean = [...last].filter((one) => isCleanText(one) && !/\p{Cc}/u.test(one)).join("");
  const name = clean.slice(0, MAX_FILE_NAME_CHARS).replace(/\p{Cs}$/u, "");
  return name === "" || DOTS.test(name) ? fallback : name;
};

export const newFileQuery = z.strictObject({
  name: label(MAX_FILE_NAME_CHARS).optional().meta({ description: "the file's name, for a body of plain bytes" }),
  purpose: purpose.optional(),
  expires_after_seconds: digits(shortest, longest)
    .optional()
    .meta({ description: `${shortest} to ${longest}; 30 days if it is left out` }),
});

export const fileListQuery = z.strictObject({ ...listQuery, purpose: purpose.optional() });

export const fileResource = z
  .object({
    id: z.string(),
    name: z.string(),
    bytes: count,
    content_type: z.string(),
    sha256: z.string().meta({ description: "of the bytes, hex" }),
    purpose: z.string().nullable(),
    created_at: instant,
    expires_at: instant,
    key_id: z.string().nullable().meta({ description: "the key that stored it" }),
    job_id: z.string().nullable().meta({ description: "the job that it is an output of" }),
  })
  .meta({ id: "File" });

export const fileList = z.object({ files: z.array(fileResource), ...page }).meta({ id: "FileList" });

export const newLinkRequest = z
  .strictObject({ seconds: z.int().min(1).max(LINK_SECONDS.longest).default(LINK_SECONDS.usual) })
  .meta({ id: "NewFileLink" });

export const fileLink = z.object({ url: z.string(), expires_at: instant }).meta({ id: "FileLink" });

export type FileResource = z.infer<typeof fileResource>;
export type FileList = z.infer<typeof fileList>;
export type FileLink = z.infer<typeof fileLink>;
export type FileListQuery = z.infer<typeof fileListQuery>;
export type NewLinkRequest = z.input<typeof newLinkRequest>;

/** Only for a file whose bytes are all there. */
export const presentFile = (file: FileRecord): FileResource => ({
  id: file.id,
  name: file.name,
  bytes: file.bytes,
  content_type: file.contentType,
  sha256: file.sha256 ?? "",
  purpose: file.purpose,
  created_at: toIso(file.createdAt),
  expires_at: toIso(file.expiresAt),
  key_id: idsOf(file).keyId,
  job_id: file.jobId,
});
