// Batches as their clients know them: OpenAI's and Anthropic's own packages behind one interface.

import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI, { toFile } from "openai";
import type { Tenant } from "../signalbox.ts";

export const BATCH_MODEL = "bench-model";
const LINE_CHARS = 900;
const NO_RETRIES = { maxRetries: 0, timeout: 3_600_000 };

interface Answered {
  readonly name: string;
  /** False: it stands there without an answer. */
  readonly isAnswered: boolean;
}

export interface BatchClient {
  readonly of: string;
  /** Sends the requests; answers the batch's id. */
  readonly create: (names: readonly string[]) => Promise<string>;
  readonly isOver: (id: string) => Promise<boolean>;
  /** False: it was over before. */
  readonly cancel: (id: string) => Promise<boolean>;
  /** All batches, a page at a time. */
  readonly list: () => Promise<string[]>;
  readonly results: (id: string) => AsyncIterable<Answered>;
}

/** About 1 KiB a line. */
const messagesOf = (name: string) => [{ role: "user" as const, content: `${name}: `.padEnd(LINE_CHARS, "a text ") }];

const keyOf = ({ authorization }: Tenant): string => authorization.replace("Bearer ", "");

const CONFLICT = 409;

const isInTime = async (cancelled: Promise<unknown>): Promise<boolean> => {
  try {
    await cancelled;
    return true;
  } catch (error) {
    if ((error as { status?: number }).status === CONFLICT) return false;
    throw error;
  }
};

const ENDED: ReadonlySet<string> = new Set(["completed", "failed", "expired", "cancelled"]);

export const openAiClient = (tenant: Tenant): BatchClient => {
  const openai = new OpenAI({ ...NO_RETRIES, apiKey: keyOf(tenant), baseURL: `http://127.0.0.1:${tenant.port}/v1` });
  const endpoint = "/v1/chat/completions";
  const lineOf = (custom_id: string): string =>
    `${JSON.stringify({ custom_id, method: "POST", url: endpoint, body: { model: BATCH_MODEL, messages: messagesOf(custom_id) } })}\n`;
  async function* linesIn(file: string): AsyncGenerator<Answered> {
    const { body } = await openai.files.content(file);
    if (body === null) throw new Error(`the file ${file} has no body`);
    for await (const text of createInterface({ input: Readable.fromWeb(body as never) })) {
      const line = JSON.parse(text) as { custom_id: string; error: unknown; response: unknown };
      yield { name: line.custom_id, isAnswered: line.response !== null };
    }
  }
  return {
    of: "openai",
    create: async (names) => {
      const upload = await toFile(new Blob(names.map(lineOf)), "in.jsonl");
      const file = await openai.files.create({ file: upload, purpose: "batch" });
      const asked = { input_file_id: file.id, endpoint, completion_window: "24h" } as const;
      return (await openai.batches.create(asked)).id;
    },
    isOver: async (id) => ENDED.has((await openai.batches.retrieve(id)).status),
    cancel: (id) => isInTime(openai.batches.cancel(id)),
    list: async () => {
      const ids: string[] = [];
      for await (const { id } of openai.batches.list({ limit: 1 })) ids.push(id);
      return ids;
    },
    results: async function* (id) {
      const { output_file_id, error_file_id } = await openai.batches.retrieve(id);
      for (const file of [output_file_id, error_file_id]) if (file != null) yield* linesIn(file);
    },
  };
};

export const anthropicClient = (tenant: Tenant): BatchClient => {
  const anthropic = new Anthropic({
    ...NO_RETRIES,
    apiKey: keyOf(tenant),
    baseURL: `http://127.0.0.1:${tenant.port}`,
  });
  const { batches } = anthropic.messages;
  const requestOf = (custom_id: string) => ({
    custom_id,
    params: { model: BATCH_MODEL, max_tokens: 9, messages: messagesOf(custom_id) },
  });
  return {
    of: "@anthropic-ai/sdk",
    create: async (names) => (await batches.create({ requests: names.map(requestOf) })).id,
    isOver: async (id) => (await batches.retrieve(id)).processing_status === "ended",
    cancel: (id) => isInTime(batches.cancel(id)),
    list: async () => {
      const ids: string[] = [];
      for await (const { id } of batches.list({ limit: 1 })) ids.push(id);
      return ids;
    },
    results: async function* (id) {
      for await (const { custom_id: name, result } of await batches.results(id))
        yield { name, isAnswered: result.type === "succeeded" || result.type === "errored" };
    },
  };
};
