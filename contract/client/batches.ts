// Batches: a stored file of requests, done when the fleet has room.

import type { BatchList, BatchResource } from "../batch.ts";
import type { OpenAiBatch } from "../front-door/openai-batch.ts";
import { listAt, type PageQuery } from "./listing.ts";
import { type CallOptions, pathOf, type QueryOf, type Transport } from "./transport.ts";

export interface NewBatch {
  /** The stored file's id. */
  readonly file: string;
  /** `/v1/chat/completions`, or another that its lines name. */
  readonly endpoint: string;
  /** `24h`, or any number of hours or days from `1h` to `7d`. */
  readonly window?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

export const batchVerbs = (transport: Transport) => ({
  /** Answers the id of the batch, whose file is read next. */
  create: async ({ file, endpoint, window = "24h", metadata }: NewBatch, options?: CallOptions): Promise<string> => {
    const body = { input_file_id: file, endpoint, completion_window: window, metadata };
    const made = await transport.post<OpenAiBatch>("/v1/batches", body, options);
    return made.id;
  },
  list: (query: QueryOf<PageQuery> = {}, options?: CallOptions) =>
    listAt(transport, "/api/batches", query, ({ batches }: BatchList) => batches, options),
  get: (id: string, options?: CallOptions) => transport.get<BatchResource>(pathOf`/api/batches/${id}`, options),
  /** What is wrong with the file of a batch that is `failed`: the first hundred faults with their lines. */
  faults: async (id: string, options?: CallOptions) => {
    const batch = await transport.get<OpenAiBatch>(pathOf`/v1/batches/${id}`, options);
    return batch.errors?.data ?? [];
  },
  cancel: (id: string, options?: CallOptions) =>
    transport.post<BatchResource>(pathOf`/api/batches/${id}/cancel`, undefined, options),
});
