// Calls of a runtime's own API for its models: JSON in, JSON or lines of JSON out. A refusal becomes a TaskFailure with
// the runtime's words.

import { objectOf, parseJson } from "../../contract/text/json-object.ts";
import { lineOf } from "../../contract/text/start-of.ts";
import { MAX_TOLD_BYTES, textWithin } from "../calls/text-within.ts";
import { runtimeFetch } from "../runtimes/runtime-fetch.ts";
import { TaskFailure } from "./model-manager.ts";

const MAX_WORDS = 1_000;
const NOT_FOUND = 404;
/** Of what a runtime tells while it works. */
const MAX_LINE_CHARS = 1024 * 1024;

type RuntimeApiOptions = { origin: string; key: string | null };

type RuntimeCall = { method?: string; body?: unknown; signal: AbortSignal };

export type JsonObject = Readonly<Record<string, unknown>>;

export class RuntimeApi {
  readonly #options: RuntimeApiOptions;

  constructor(options: RuntimeApiOptions) {
    this.#options = options;
  }

  async json(path: string, call: RuntimeCall): Promise<JsonObject> {
    return objectOf(parseJson(await textWithin(await this.#ask(path, call), MAX_TOLD_BYTES)));
  }

  /** Null: the runtime has no such path. */
  async jsonIfThere(path: string, call: RuntimeCall): Promise<JsonObject | null> {
    return this.json(path, call).catch((error: unknown) => {
      if (error instanceof TaskFailure && error.code === "not_found") return null;
      throw error;
    });
  }

  /** The lines of an answer that arrives while the runtime works. */
  async *lines(path: string, call: RuntimeCall): AsyncGenerator<JsonObject> {
    const { body } = await this.#ask(path, call);
    if (body === null) return;
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of body) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      if (rest.length > MAX_LINE_CHARS)
        throw new TaskFailure("runtime_refused", "the runtime wrote a line without end");
      for (const part of parts) if (part.trim() !== "") yield objectOf(parseJson(part));
    }
    if (rest.trim() !== "") yield objectOf(parseJson(rest));
  }

  async #ask(path: string, { method = "GET", body, signal }: RuntimeCall): Promise<Response> {
    const { origin, key } = this.#options;
    const response = await runtimeFetch(origin + path, {
      method,
      signal,
      headers: {
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (response.ok) return response;
    const code = response.status === NOT_FOUND ? "not_found" : "runtime_refused";
    throw new TaskFailure(
      code,
      saidBy(await textWithin(response, MAX_TOLD_BYTES)) ?? `the runtime answered ${response.status}`,
    );
  }
}

/** The words of an error body: `{"error": "…"}` or `{"error": {"message": "…"}}`. */
export const saidBy = (body: string): string | null => {
  const { error } = objectOf(parseJson(body));
  const words = typeof error === "string" ? error : objectOf(error).message;
  return typeof words === "string" && words !== "" ? lineOf(words, MAX_WORDS) : null;
};

export const listOf = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.map(objectOf) : []);
export const textIn = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);
export const numberIn = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;
