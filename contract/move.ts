// A tenant's move to another deployment: the requests and answers of both ends. The command `signalbox move` carries
// the rows.

import * as z from "zod";
import { batchId } from "./batch.ts";
import { databaseNumber } from "./tenant.ts";
import { instant } from "./words/field.ts";

/** A part stays well below the size limit of a body, unless a single row is larger. */
export const PART_CHARS = 512 * 1024;
export const MAX_PART_BYTES = 8 * 1024 * 1024;

/** Longer than any key of a table. */
const MAX_CURSOR_CHARS = 4_096;

const cell = z.union([z.string(), z.number(), z.null()]);
const place = z.enum(["object", "history"]);

const jurisdiction = z
  .enum(["eu", "fedramp"])
  .nullable()
  .meta({ description: "stands in the tenant's keys, so it moves with it" });

export const moveRequest = z
  .strictObject({
    to: z.url().max(2048).meta({ description: "the base URL of the new deployment; requests to this one are told it" }),
  })
  .meta({ id: "Move", examples: [{ to: "https://example.com" }] });

export const moveAnswer = z
  .object({
    tenant: z.string(),
    move: z.string().meta({ description: "names this move: the same when the step is repeated" }),
    created_at: instant,
    jurisdiction,
    release: z.string(),
    schema: z.int(),
    tables: z.array(z.object({ place, table: z.string() })),
  })
  .meta({ id: "MoveBegun" });

export const arrivalRequest = z
  .strictObject({
    move: z.string().min(1).max(64),
    created_at: instant,
    jurisdiction: jurisdiction.default(null),
    schema: z.int(),
  })
  .meta({ id: "Arrival" });
export const movingTenant = z
  .object({ tenant: z.string(), state: z.enum(["arriving", "arrived"]) })
  .meta({ id: "MovingTenant" });

export const rowsQuery = z.strictObject({
  place,
  table: z.string().max(64),
  from: z
    .string()
    .max(MAX_CURSOR_CHARS)
    .default("")
    .meta({ description: "`next` of the part before; empty for the first part" }),
});

const cursor = z.string().max(MAX_CURSOR_CHARS).nullable();

export const rowsPart = z
  .strictObject({
    place,
    table: z.string().max(64),
    columns: z.array(z.string()),
    rows: z.array(z.array(cell)),
    next: cursor,
    is_first: z.boolean(),
  })
  .meta({ id: "MovedRows" });

export const rowsDigest = z
  .object({
    place,
    table: z.string(),
    rows: z.int(),
    digest: z.string().meta({ description: "SHA-256 of the part's rows, in hexadecimal" }),
    next: cursor,
  })
  .meta({ id: "MovedRowsDigest" });

export const movedFileQuery = z.strictObject({
  batch: batchId.optional().meta({ description: "with `form`: not the file, but what this batch made of its lines" }),
  form: z.enum(["out", "err"]).optional(),
});

export const movedFile = z
  .object({ bytes: z.int(), sha256: z.string().meta({ description: "of the bytes, in hexadecimal" }) })
  .meta({ id: "MovedFile" });

export const moveStep = z.strictObject({
  move: z.string().max(64).meta({ description: "the try: it ends when another one begins" }),
  phase: z.enum(["copy", "compare"]),
  table: z.string().max(64),
  after: z.array(cell).nullable().meta({ description: "the last row that is done; null: none" }),
});

export const historyMoveRequest = z
  .strictObject({
    database: databaseNumber,
    next: moveStep.nullish().meta({ description: "`next` of the answer before; missing in the first request" }),
  })
  .meta({ id: "HistoryMove" });

export const historyMoveAnswer = z
  .object({
    tenant: z.string(),
    state: z.enum(["moving", "moved"]),
    next: moveStep.nullable().meta({ description: "for the next request; null: the history is in its new database" }),
  })
  .meta({ id: "HistoryMoveStep" });

export type HistoryMoveRequest = z.input<typeof historyMoveRequest>;
export type HistoryMoveAnswer = z.infer<typeof historyMoveAnswer>;
export type HistoryMoveStep = z.infer<typeof moveStep>;
export type MovedFile = z.infer<typeof movedFile>;
export type MovedFileQuery = z.input<typeof movedFileQuery>;
export type MoveAnswer = z.infer<typeof moveAnswer>;
export type RowsPart = z.infer<typeof rowsPart>;
export type RowsDigest = z.infer<typeof rowsDigest>;
export type RowsQuery = z.input<typeof rowsQuery>;
export type ArrivalRequest = z.input<typeof arrivalRequest>;
export type MovingTenant = z.infer<typeof movingTenant>;
