// What a worker stores of a job that it holds: outputs, and a result over 1 MiB.

import * as z from "zod";
import { fileResource, MAX_FILE_NAME_CHARS } from "../../../contract/file.ts";
import { jobIdParam } from "../../../contract/fleet/worker.ts";
import { digits, json, label } from "../../../contract/words/field.ts";
import { FILE_LIFE_MS, MAX_FILE_BYTES, MAX_LARGE_RESULT_BYTES } from "../../../domain/file/file.ts";
import { type Endpoint, endpoint } from "../../endpoint/router.ts";
import { receive } from "../../files/receive.ts";
import type { Receiver } from "../../files/reception.ts";
import { arrivingBytes } from "../../files/upload.ts";
import { answer } from "../../http/answer.ts";
import type { AppContext } from "../../http/auth.ts";
import type { TokenFacts } from "../../http/key-format.ts";
import { asks } from "../../tenant/asks.ts";
import { callTenant } from "../../tenant/tenant.ts";

const BASE = { tag: "Worker protocol", params: jobIdParam } as const;
const leaseQuery = { lease: digits(0, 999_999_999) };

const outputOf = (
  { env }: AppContext,
  token: TokenFacts,
  job: { readonly id: string; readonly lease: number },
  isResult: boolean,
): Receiver => ({
  tooLarge: isResult
    ? {
        code: "result_too_large",
        limitBytes: MAX_LARGE_RESULT_BYTES,
        detail: `a result has at most ${MAX_LARGE_RESULT_BYTES} bytes: store what is larger as a file of the job`,
      }
    : {
        code: "file_too_large",
        limitBytes: MAX_FILE_BYTES,
        detail: `a file has at most ${MAX_FILE_BYTES} bytes: split it`,
      },
  lifeMs: () => FILE_LIFE_MS.output,
  announce: (file) => callTenant(env, token, "announceOutput", { ...file, job }),
  finish: (arrived) => callTenant(env, token, "finishOutput", { ...arrived, job, isResult }),
  forget: (id) => callTenant(env, token, "forgetOutput", { id }),
});

const addFile = endpoint(
  {
    ...BASE,
    ...asks("finishOutput", "file_too_large"),
    operationId: "addJobFile",
    method: "post",
    path: "/api/jobs/{id}/files",
    summary: "Add an output to a job",
    description: "The bytes as the body. It stands in the job as one of its `result_files`, for 7 days.",
    query: z.strictObject({ ...leaseQuery, name: label(MAX_FILE_NAME_CHARS) }),
    rawBody: { schema: json, media: ["application/octet-stream"], isStreamed: true },
    answers: { 201: { description: "The file.", schema: fileResource } },
  },
  async (c, { params, query: { lease, name }, token }) => {
    const arriving = arrivingBytes(c, { name, purpose: null, lifeMs: null });
    return answer(c, await receive(c, token, arriving, outputOf(c, token, { id: params.id, lease }, false)), 201);
  },
);

const storedResult = z
  .object({ file: fileResource.pick({ id: true, bytes: true }) })
  .meta({ id: "StoredResult", description: "to be named as `result_file` in the report" });

const putResult = endpoint(
  {
    ...BASE,
    ...asks("finishOutput", "result_too_large"),
    operationId: "putJobResult",
    method: "put",
    path: "/api/jobs/{id}/result",
    summary: "Store a result that is over 1 MiB",
    description:
      "JSON of at most 64 MiB, kept as it comes and not parsed. Then complete the job with `result_file` instead of `result`.",
    query: z.strictObject(leaseQuery),
    rawBody: { schema: json, media: ["application/json"], isStreamed: true },
    answers: { 201: { description: "Where it is kept.", schema: storedResult } },
  },
  async (c, { params, query: { lease }, token }) => {
    const arriving = arrivingBytes(c, { name: `${params.id}.json`, purpose: null, lifeMs: null });
    const { id, bytes } = await receive(c, token, arriving, outputOf(c, token, { id: params.id, lease }, true));
    return answer(c, { file: { id, bytes } }, 201);
  },
);

export const outputRoutes: readonly Endpoint[] = [addFile, putResult];
