// The models that a local runtime lists, cached for a few seconds so that a burst of jobs asks once, and for longer where
// only the spelling of a name is asked: a first token must not wait for a list. Null: the runtime has no list. An empty
// list means that it has no models.

import { APICallError } from "ai";
import { reasonOf } from "../../contract/text/error-causes.ts";
import { KEY_HEADERS } from "../apis/provider-dialects.ts";
import type { ModelList } from "../calls/runtime.ts";
import { MAX_TOLD_BYTES, textWithin } from "../calls/text-within.ts";

const FRESH_FOR_MS = 5_000;
const LIST_TIMEOUT_MS = 10_000;

const WEB_PAGE = "it answers with a web page, not with its models";

export const rememberedList = (load: () => Promise<readonly string[] | null>, nowMs: () => number): ModelList => {
  let last: { atMs: number; models: Promise<readonly string[] | null> } | null = null;
  let known: readonly string[] | null = null;
  return async (signal, named = null) => {
    signal.throwIfAborted();
    if (named !== null && known?.includes(named)) return known;
    if (last === null || nowMs() - last.atMs > FRESH_FOR_MS) {
      const models = load();
      last = { atMs: nowMs(), models };
      // A failure is not cached: the runtime may be back for the next job.
      models.catch(() => {
        if (last?.models === models) last = null;
      });
    }
    known = await last.models;
    return known;
  };
};

/** @throws APICallError if the runtime cannot be reached or refuses, as a model call would. */
export const fetchModelList = async (
  url: string,
  key: string | null,
  fetchFn: typeof fetch,
  keyHeaders: (key: string) => Record<string, string> = KEY_HEADERS.openai,
): Promise<readonly string[] | null> => {
  const headers = { accept: "application/json", ...(key === null ? {} : keyHeaders(key)) };
  const failure = { url, requestBodyValues: null };
  const noAnswer = (cause: unknown): never => {
    throw new APICallError({ ...failure, message: reasonOf(cause), cause });
  };
  const response = await fetchFn(url, { headers, signal: AbortSignal.timeout(LIST_TIMEOUT_MS) }).catch(noAnswer);
  // A list that stops halfway is no answer either.
  const responseBody = await textWithin(response, MAX_TOLD_BYTES).catch(noAnswer);
  if (response.status === 404 || response.status === 405) return null;
  // A login page of the network, or a program of another kind at the same port.
  if (response.ok && isPage(response)) throw new APICallError({ ...failure, message: WEB_PAGE });
  if (!response.ok) {
    const responseHeaders = Object.fromEntries(response.headers);
    throw new APICallError({
      ...failure,
      message: `${response.status}`,
      statusCode: response.status,
      responseHeaders,
      responseBody,
    });
  }
  return namesOf(responseBody);
};

const isPage = ({ headers }: Response): boolean => headers.get("content-type")?.startsWith("text/html") ?? false;

/**
 * Ollama and Gemini (as `models/<name>`): `models[].name`; all others: `data[].id`. A list of null is empty; anything
 * else is not a list.
 */
const namesOf = (text: string): readonly string[] | null => {
  let body: { models?: unknown; data?: unknown };
  try {
    body = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof body !== "object" || body === null) return null;
  if (!("data" in body) && !("models" in body)) return null;
  const rows = body.data ?? body.models ?? [];
  if (!Array.isArray(rows)) return null;
  return rows
    .map((row) => row?.id ?? row?.name)
    .filter((name) => typeof name === "string" && name !== "")
    .map((name: string) => name.replace(/^models\//, ""));
};
