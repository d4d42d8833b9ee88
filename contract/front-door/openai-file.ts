// Files and uploads in OpenAI's form: the same files as `file.ts`, in seconds and with a status.

import * as z from "zod";
import { FILE_LIFE_MS, MAX_FILE_BYTES } from "../../domain/file/file.ts";
import { type FileResource, fileBytes, MAX_FILE_NAME_CHARS, purpose } from "../file.ts";
import { count, digits, identifier, label, place } from "../words/field.ts";
import { pageOf } from "./page.ts";

const seconds = z.int().meta({ description: "seconds since 1970" });

export const openAiFile = z
  .object({
    id: z.string(),
    object: z.literal("file"),
    bytes: count,
    created_at: seconds,
    filename: z.string(),
    purpose: z.string(),
    status: z.literal("processed"),
    expires_at: seconds,
  })
  .meta({ id: "OpenAiFile" });

export const openAiFileList = z
  .object({
    object: z.literal("list"),
    ...pageOf(openAiFile),
  })
  .meta({ id: "OpenAiFileList" });

export const openAiFileDeleted = z
  .object({ id: z.string(), object: z.literal("file"), deleted: z.literal(true) })
  .meta({ id: "OpenAiFileDeleted" });

const MAX_LISTED = 1_000;
export const openAiFileQuery = z.object({
  after: place,
  limit: digits(1, 10_000)
    .transform((limit) => Math.min(limit, MAX_LISTED))
    .optional(),
  order: z.enum(["asc", "desc"]).optional(),
  purpose: purpose.optional(),
});

const lifeSeconds = z
  .int()
  .min(FILE_LIFE_MS.shortest / 1000)
  .max(FILE_LIFE_MS.longest / 1000);

export const expiresAfter = z.object({ anchor: z.literal("created_at"), seconds: lifeSeconds });

/** A form's fields, as text. */
export const openAiFileFields = z.object({
  purpose,
  "expires_after[anchor]": z.literal("created_at").optional(),
  "expires_after[seconds]": z.preprocess(
    (given) => (given === undefined ? undefined : Number(given)),
    lifeSeconds.optional(),
  ),
});

/** The whole form, for the document: a file beside its fields. */
export const openAiFileForm = openAiFileFields.extend({ file: fileBytes }).meta({ id: "NewOpenAiFile" });
export const uploadPartForm = z.object({ data: fileBytes });

export const newUploadRequest = z
  .object({
    filename: label(MAX_FILE_NAME_CHARS),
    purpose,
    bytes: z
      .int()
      .min(1)
      .meta({ description: `at most ${MAX_FILE_BYTES}` }),
    mime_type: label(200),
    expires_after: expiresAfter.optional(),
  })
  .meta({ id: "NewUpload" });

const partId = identifier(/^part_[A-Za-z0-9]+$/, 64, "`part_` and characters from A-Z a-z 0-9");
/** Rows of one upload: bounds what completing it costs. */
const MAX_UPLOAD_PARTS = 1_000;

export const completeUploadRequest = z
  .object({
    part_ids: z.array(partId).min(1).max(MAX_UPLOAD_PARTS),
    md5: identifier(/^[0-9a-fA-F]{32}$/, 32, "32 digits from 0-9 a-f A-F").optional(),
  })
  .meta({ id: "CompleteUpload" });

export const uploadResource = z
  .object({
    id: z.string(),
    object: z.literal("upload"),
    bytes: count,
    created_at: seconds,
    expires_at: seconds,
    filename: z.string(),
    purpose: z.string(),
    status: z.enum(["pending", "completed", "cancelled"]),
    file: openAiFile.nullable(),
  })
  .meta({ id: "Upload" });

export const uploadPart = z
  .object({ id: z.string(), object: z.literal("upload.part"), created_at: seconds, upload_id: z.string() })
  .meta({ id: "UploadPart" });

export type OpenAiFile = z.infer<typeof openAiFile>;
export type UploadResource = z.infer<typeof uploadResource>;

const secondsOf = (iso: string): number => Math.floor(Date.parse(iso) / 1000);

/** A file that came by Signalbox's own form may have no purpose, which OpenAI's form requires. */
export const toOpenAiFile = (file: FileResource): OpenAiFile => ({
  id: file.id,
  object: "file",
  bytes: file.bytes,
  created_at: secondsOf(file.created_at),
  filename: file.name,
  purpose: file.purpose ?? "user_data",
  status: "processed",
  expires_at: secondsOf(file.expires_at),
});
