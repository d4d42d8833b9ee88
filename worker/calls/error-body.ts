// Reads the error bodies of model providers, which all differ, into one flat description. Known forms:
// {error:{message,type,code,status,details}}, {error:"…"}, [{error:{…}}], {detail}, {message,type,code},
// {object:"error",…}, {type:"error",error:{…}}, plain text. A numeric `code` is an HTTP status.

import { isObject, type JsonObject, jsonOrText } from "../../contract/text/json-object.ts";
import { startOf } from "../../contract/text/start-of.ts";
import { within } from "../../contract/text/within.ts";
import { entryOf } from "../../contract/words/values.ts";
import type { RuntimeAnswer } from "./runtime.ts";

export type ErrorBody = {
  message: string;
  /** All machine-readable words of the body (code, type, status, reasons), lower case. */
  words: readonly string[];
  /** The provider's own, unchanged. */
  code?: string;
  type?: string;
  /** It says itself that it is an error. */
  isError: boolean;
  /** The status named in the body, for errors inside a stream that began with 200. */
  status?: number;
  /** Google's RetryInfo. */
  retryDelaySeconds?: number;
};

const MAX_CHARS = 64 * 1024;
const WITHIN_MS = 5_000;

/** What is read of an error's body: the status has said most, so one that breaks off or never ends holds up nothing. */
export const startOfBody = async ({ body }: Pick<RuntimeAnswer, "body">): Promise<string> => {
  const decoder = new TextDecoder();
  let text = "";
  const read = async (): Promise<void> => {
    for await (const chunk of body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length > MAX_CHARS) break;
    }
  };
  await within(read(), WITHIN_MS).catch(() => null);
  return startOf(text, MAX_CHARS);
};

/** Anthropic's and Google's words for HTTP statuses; an error inside a stream has only these. */
const STATUS_OF_WORD: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  invalid_argument: 400,
  failed_precondition: 400,
  authentication_error: 401,
  unauthenticated: 401,
  billing_error: 402,
  permission_error: 403,
  permission_denied: 403,
  not_found_error: 404,
  not_found: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  resource_exhausted: 429,
  api_error: 500,
  internal: 500,
  unavailable: 503,
  validation: 422,
  timeout_error: 504,
  deadline_exceeded: 504,
  overloaded_error: 529,
};

export const readErrorBody = (body: unknown): ErrorBody => {
  const root = withoutArray(typeof body === "string" ? jsonOrText(body) : body);
  if (!isObject(root)) return { message: typeof root === "string" ? root.trim() : "", words: [], isError: false };
  const error = isObject(root.error) ? root.error : root;
  const details = Array.isArray(error.details) ? error.details.filter(isObject) : [];
  const words = [error.code, error.type, error.status, root.error_type, ...details.map((detail) => detail.reason)]
    .filter((word) => typeof word === "string")
    .map((word) => word.toLowerCase());
  const status =
    numericStatus(error.code) ??
    numericStatus(error.http_status_code) ??
    words.map(statusOfWord).find((code) => code !== undefined);
  const retryDelaySeconds = retryInfo(details);
  const code = wordOf(error.code);
  const type = wordOf(error.type);
  return {
    message: messageOf(root, error),
    words,
    isError: root.error != null || root.object === "error" || root.type === "error",
    ...(code === undefined ? {} : { code }),
    ...(type === undefined ? {} : { type }),
    ...(status === undefined ? {} : { status }),
    ...(retryDelaySeconds === undefined ? {} : { retryDelaySeconds }),
  };
};

/** A number is a status, even as text. */
const wordOf = (word: unknown): string | undefined =>
  typeof word === "string" && word !== "" && numericStatus(word) === undefined ? word : undefined;

const messageOf = (root: JsonObject, error: JsonObject): string => {
  const candidates = [error.message, root.error, error.detail, root.message];
  const text = candidates.find((candidate) => typeof candidate === "string" && candidate !== "");
  if (typeof text === "string") return text.trim();
  return JSON.stringify(error);
};

const retryInfo = (details: readonly JsonObject[]): number | undefined => {
  for (const { retryDelay } of details) {
    const seconds = typeof retryDelay === "string" ? /^(\d+(?:\.\d+)?)s$/.exec(retryDelay)?.[1] : undefined;
    if (seconds !== undefined) return Number(seconds);
  }
  return undefined;
};

const statusOfWord = (word: string): number | undefined => entryOf(STATUS_OF_WORD, word);

const numericStatus = (code: unknown): number | undefined => {
  const status = typeof code === "number" ? code : typeof code === "string" && /^[45]\d\d$/.test(code) ? +code : 0;
  return Number.isInteger(status) && status >= 400 && status <= 599 ? status : undefined;
};

/** Google writes an error as a list of one. */
export const withoutArray = (value: unknown): unknown => (Array.isArray(value) && value.length > 0 ? value[0] : value);
