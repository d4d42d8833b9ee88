// The cursor of a list: its sorting, and the last job's place in it.

import * as z from "zod";
import { base64Url } from "../../contract/text/base64.ts";
import { invalid } from "../../domain/words/refusal.ts";
import { Refused } from "../http/refused.ts";

const cursor = z.tuple([z.string(), z.number().nullable(), z.string()]);

export interface PlaceInList {
  /** The value that the list is sorted by; null if the job has none. */
  readonly value: number | null;
  readonly id: string;
}

export const writeCursor = (sort: string, { value, id }: PlaceInList): string =>
  base64Url(new TextEncoder().encode(JSON.stringify([sort, value, id])));

export const readCursor = (sort: string, text: string): PlaceInList => {
  const parsed = cursor.safeParse(decoded(text));
  if (!parsed.success) throw new Refused(invalid("cursor", "is not a cursor of this service: start without it"));
  const [of, value, id] = parsed.data;
  if (of !== sort)
    throw new Refused(invalid("cursor", `belongs to a list with sort=${of}: use the same sort, or start without it`));
  return { value, id };
};

const decoded = (text: string): unknown => {
  try {
    return JSON.parse(atob(text.replaceAll("-", "+").replaceAll("_", "/")));
  } catch {
    return null;
  }
};
