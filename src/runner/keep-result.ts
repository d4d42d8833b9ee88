// Keeps an answer of a provider that no report carries as the job's result file, while it arrives: as a worker does by
// `PUT /api/jobs/<id>/result`, without the request.

import type { FileResource } from "../../contract/file.ts";
import type { LeasedJob } from "../../contract/fleet/worker.ts";
import { MAX_LARGE_RESULT_BYTES } from "../../contract/words/values.ts";
import { FILE_LIFE_MS } from "../../domain/file/file.ts";
import type { Refusal } from "../../domain/words/refusal.ts";
import type { Result } from "../../domain/words/result.ts";
import type { Announced } from "../../durable-objects/operations/files/files.ts";
import type { RunnerOwner } from "../../durable-objects/relay/runner-owner.ts";
import { resultTooLarge, type Stored } from "../../worker/calls/runtime.ts";
import { receiveAt } from "../files/receive.ts";
import type { Receiver } from "../files/reception.ts";
import { sendOn } from "../files/send-on.ts";
import { Refused } from "../http/refused.ts";

type Place = Parameters<typeof receiveAt>[0];

export const keepResult = async (
  place: Place,
  tenant: Pick<RunnerOwner, "keepRunnerResult">,
  { id, lease }: Pick<LeasedJob, "id" | "lease">,
  bytes: AsyncIterable<Uint8Array>,
  contentType: string,
): Promise<Stored> => {
  const job = { id, lease };
  const receiver: Receiver = {
    tooLarge: { code: "result_too_large", limitBytes: MAX_LARGE_RESULT_BYTES, detail: "" },
    lifeMs: () => FILE_LIFE_MS.output,
    announce: async (file) =>
      (await tenant.keepRunnerResult({ do: "announce", asked: { ...file, job } })) as Result<Announced, Refusal>,
    finish: async (arrived) =>
      (await tenant.keepRunnerResult({ do: "finish", asked: { ...arrived, job, isResult: true } })) as Result<
        FileResource,
        Refusal
      >,
    forget: (file) => tenant.keepRunnerResult({ do: "forget", asked: { id: file } }),
  };
  const arriving = {
    declaredBytes: null,
    send: async (store: (body: ReadableStream<Uint8Array>) => Promise<void>) => {
      await sendOn(bytes, store);
      return { name: `${id}.json`, contentType, purpose: null, lifeMs: null };
    },
  };
  try {
    const file = await receiveAt(place, arriving, receiver);
    return { ok: true, file: { id: file.id, bytes: file.bytes } };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.refusal.code === "result_too_large") return { ok: false, error: resultTooLarge() };
    const message = `The coordinator did not take the result: ${error.refusal.code}`;
    return { ok: false, error: { code: "result_not_stored", message, retryable: false } };
  }
};
