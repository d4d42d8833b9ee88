// The value of a header that says something about a request. Like an unknown field, a value that does not fit is refused.

import * as z from "zod";
import { fieldErrorsOf } from "../../contract/words/validation.ts";
import { invalid } from "../../domain/words/refusal.ts";
import type { AppContext } from "./auth.ts";
import { Refused } from "./refused.ts";

/** Names the person that a request is for. */
export const USER_HEADER = "x-signalbox-user";

/** Whether a job may go to a provider that the coordinator calls itself. */
export const EDGE_HEADER = "x-signalbox-edge";
/** A request that is to stay here must not go to a provider for a word that nobody reads. */
const edgeHeader = z
  .string()
  .toLowerCase()
  .pipe(z.enum(["on", "off"], "must be on or off"));

const ASCII = /^[\t -~]*$/;
const BYTES = /^[\t -\xff]*$/;
const UTF_8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Clients write letters beyond ASCII as UTF-8, of which Node gives each byte as a character. */
export const headerText = (given: string): string => {
  if (ASCII.test(given) || !BYTES.test(given)) return given;
  try {
    return UTF_8.decode(Uint8Array.from(given, (byte) => byte.charCodeAt(0)));
  } catch {
    return given;
  }
};

/** Null if there is none, or an empty one. */
export const headerOf = <Schema extends z.ZodType>(
  c: AppContext,
  name: string,
  schema: Schema,
): z.infer<Schema> | null => {
  const given = headerText(c.req.header(name) ?? "").trim();
  if (given === "") return null;
  const parsed = schema.safeParse(given);
  if (!parsed.success)
    throw new Refused(invalid(name, fieldErrorsOf(schema, parsed.error, given)[0]?.message ?? "is invalid"));
  return parsed.data;
};

export const isKeptFromEdge = (c: AppContext): boolean => headerOf(c, EDGE_HEADER, edgeHeader) === "off";
