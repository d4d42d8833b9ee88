// Stored answers of the Responses API, in OpenAI's form.

import * as z from "zod";
import { responseIdOf, type StoredResponse } from "../../domain/front-door/stored-response.ts";
import type { JobError } from "../../domain/job/job.ts";
import { entryOf } from "../../domain/words/entry-of.ts";
import { isFinal, type JobStatus } from "../../domain/words/job-status.ts";
import type { Json } from "../../domain/words/json.ts";
import { isObject } from "../text/json-object.ts";
import { digits, identifier } from "../words/field.ts";
import { pageOf, toPage } from "./page.ts";

type Fields = { readonly [name: string]: Json };

const responseId = identifier(/^resp_[0-9a-f-]+$/, 64, "`resp_` and a job's id");
export const responseIdParam = z.object({ id: responseId });

const MAX_NUMBER = 999_999_999;
export const responseQuery = z.object({
  stream: z.enum(["true", "false"]).optional(),
  starting_after: digits(0, MAX_NUMBER)
    .optional()
    .meta({ description: "of a stream: only events after this `sequence_number`" }),
});

const USUAL_ITEMS = 20;
const MAX_ITEMS = 100;
export const inputItemsQuery = z.object({
  limit: digits(1, MAX_ITEMS).default(USUAL_ITEMS),
  order: z.enum(["asc", "desc"]).default("desc"),
  after: z.string().max(256).optional().meta({ description: "the id of an item" }),
});
export type InputItemsQuery = z.infer<typeof inputItemsQuery>;

export const responseResource = z
  .looseObject({
    id: z.string(),
    object: z.literal("response"),
    status: z.enum(["queued", "in_progress", "completed", "failed", "cancelled", "incomplete"]),
    background: z.boolean(),
    store: z.literal(true),
    previous_response_id: z.string().nullable(),
  })
  .meta({ id: "StoredResponse", description: "the runtime's answer, under the id that Signalbox gives it" });

export const deletedResponse = z
  .object({ id: z.string(), object: z.literal("response"), deleted: z.literal(true) })
  .meta({ id: "DeletedResponse" });

export const inputItemList = z
  .object({
    object: z.literal("list"),
    ...pageOf(z.looseObject({ id: z.string(), type: z.string() })),
  })
  .meta({ id: "ResponseInputItems" });

type Named = Pick<StoredResponse, "id" | "isBackground" | "previousId">;

/** What an answer says of itself, whatever its runtime called it. */
const namesOf = ({ id, isBackground, previousId }: Named): Fields => ({
  id: responseIdOf(id),
  object: "response",
  background: isBackground,
  store: true,
  previous_response_id: previousId === null ? null : responseIdOf(previousId),
});

export const namedAnswer = (answer: Json, response: Named): Json =>
  isObject(answer) ? { ...(answer as Fields), ...namesOf(response) } : answer;

const OPEN: Readonly<Partial<Record<JobStatus, string>>> = {
  pending: "queued",
  assigned: "in_progress",
  running: "in_progress",
};

/** The fields of a request that OpenAI's answers repeat, with what they say if the request lacks one. */
const REPEATED: Fields = {
  instructions: null,
  max_output_tokens: null,
  metadata: {},
  model: "",
  parallel_tool_calls: true,
  reasoning: null,
  temperature: null,
  text: { format: { type: "text" } },
  tool_choice: "auto",
  tools: [],
  top_p: null,
  truncation: "disabled",
};

const errorOf = (error: Pick<JobError, "code" | "message"> | null): Json =>
  error === null ? null : { code: error.code, message: error.message };

/** A response without an answer: it is not finished, or never will be. */
const answerlessResponse = (
  response: Named & Pick<StoredResponse, "createdAt">,
  status: JobStatus,
  { head, error }: { readonly head: Fields; readonly error: Pick<JobError, "code" | "message"> | null },
): Fields => ({
  ...Object.fromEntries(Object.entries(REPEATED).map(([name, usual]) => [name, head[name] ?? usual])),
  ...namesOf(response),
  created_at: Math.floor(response.createdAt / 1000),
  status: OPEN[status] ?? status,
  error: status === "failed" ? errorOf(error) : null,
  incomplete_details: null,
  output: [],
  usage: null,
});

export const presentResponse = (
  response: StoredResponse,
  status: JobStatus,
  { head, answer }: { readonly head: string; readonly answer: string | null },
): Json => {
  if (answer !== null) return namedAnswer(JSON.parse(answer) as Json, response);
  const error = isFinal(status) ? (response.end?.error ?? null) : null;
  return answerlessResponse(response, status, { head: JSON.parse(head) as Fields, error });
};

const ITEM_PREFIXES: Readonly<Record<string, string>> = {
  message: "msg",
  function_call: "fc",
  function_call_output: "fco",
  reasoning: "rs",
};

type InputItem = Fields & { readonly id: string };

/** An item as OpenAI lists it: with an id, a type, and a message's text as parts. */
const listedItem = (given: Json, name: string): InputItem => {
  const item = isObject(given) ? (given as Fields) : {};
  const type = typeof item.type === "string" ? item.type : "message";
  const id = typeof item.id === "string" ? item.id : `${entryOf(ITEM_PREFIXES, type) ?? "item"}_${name}`;
  const { content } = item;
  if (type !== "message" || typeof content !== "string") return { ...item, id, type };
  const part = item.role === "assistant" ? "output_text" : "input_text";
  return { ...item, id, type, status: "completed", content: [{ type: part, text: content }] };
};

/** A page of what a response was made from; `items` are in the order of the conversation. Null: none is `after`. */
export const presentInputItems = (items: readonly Json[], jobId: string, query: InputItemsQuery): Json | null => {
  const listed: InputItem[] = [];
  // A page is asked for by an item's id, and some runtimes give every answer's item the same.
  const taken = new Set<string>();
  for (const [at, item] of items.entries()) {
    const one = listedItem(item, `${jobId}_${at}`);
    listed.push(taken.has(one.id) ? { ...one, id: `${one.id}_${at}` } : one);
    taken.add(one.id);
  }
  if (query.order === "desc") listed.reverse();
  const { after } = query;
  const from = after ? listed.findIndex(({ id }) => id === after) + 1 : 0;
  if (after && from === 0) return null;
  const data = listed.slice(from, from + query.limit);
  return { object: "list", ...toPage(data, from + query.limit < listed.length) };
};
