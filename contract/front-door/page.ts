// A page of a list as OpenAI's and Anthropic's clients read it: the next one is asked for by the id of the last entry.

import * as z from "zod";

/** The fields of a page's schema. */
export const pageOf = <Entry extends z.ZodType>(entry: Entry) => ({
  data: z.array(entry),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  has_more: z.boolean(),
});

export const toPage = <Entry extends { readonly id: string }>(data: Entry[], hasMore: boolean) => ({
  data,
  first_id: data[0]?.id ?? null,
  last_id: data.at(-1)?.id ?? null,
  has_more: hasMore,
});
