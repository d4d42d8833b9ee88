// A tenant's move to another deployment: the requests and answers of both ends. The command `signalbox move` carries
// the rows.

import * as z from "zod";
import { instant } from "./field.ts";

/** A part stays well below the size limit of a body, unless a single row is larger. */
export const PART_CHARS = 512 * 1024;
export const MAX_PART_BYTES = 8 * 1024 * 1024;

const cell = z.union([z.string(), z.number(), z.null()]);
const place = z.enum(["object", "history"]);

export const moveRequest = z
  .strictObject({
    to: z.url().max(2048).meta({ description: "the base URL of the new deployment; requests to this one are told it" }),
  })
  .meta({ id: "Move" });

export const moveAnswer = z
  .object({
    tenant: z.string(),
    created_at: instant,
    release: z.string(),
    schema: z.int(),
    tables: z.array(z.object({ place, table: z.string() })),
  })
  .meta({ id: "MoveBegun" });

export const arrivalRequest = z.strictObject({ created_at: instant, schema: z.int() }).meta({ id: "Arrival" });
export const movingTenant = z
  .object({ tenant: z.string(), state: z.enum(["arriving", "arrived"]) })
  .meta({ id: "MovingTenant" });

export const rowsQuery = z.strictObject({
  place,
  table: z.string().max(64),
  from: z
    .string()
    .regex(/^\d{1,15}$/)
    .default("0"),
});

export const rowsPart = z
  .strictObject({
    place,
    table: z.string().max(64),
    columns: z.array(z.string()),
    rows: z.array(z.array(cell)),
    next: z.int().nullable(),
    is_first: z.boolean(),
  })
  .meta({ id: "MovedRows" });

export type MoveAnswer = z.infer<typeof moveAnswer>;
export type RowsPart = z.infer<typeof rowsPart>;
export type RowsQuery = z.input<typeof rowsQuery>;
export type ArrivalRequest = z.infer<typeof arrivalRequest>;
export type MovingTenant = z.infer<typeof movingTenant>;
