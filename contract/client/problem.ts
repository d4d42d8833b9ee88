// Every failure on the way to an answer, as one error: the service's problem documents, and the cases without such a
// document. `code` is stable and safe to branch on.

import type { RefusalCode } from "../../domain/words/refusal.ts";
import { objectOf, parseJson } from "../text/json-object.ts";
import { retryAfterMs } from "../text/retry-after.ts";
import type { ProblemResource } from "../words/problem.ts";

export type ProblemCode =
  | RefusalCode
  /** No answer: the address is wrong, the service is down, or the connection broke. */
  | "unreachable"
  /** No answer within the client's own time. */
  | "timeout"
  /** The address redirects; the key is not sent there. */
  | "redirected"
  /** Not an answer of this service: another server uses the address. */
  | "unexpected_answer"
  | (string & {});

export class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  /** 0 without an answer. */
  readonly status: number;
  readonly code: ProblemCode;
  readonly title: string;
  /** Empty if the answer has none. */
  readonly requestId: string;
  readonly errors: readonly { path: string; message: string }[];
  /** With `no_eligible_workers`: each worker and why it cannot take the job. */
  readonly workers: readonly unknown[];
  readonly retryAfterSeconds: number | null;

  constructor(
    problem: Partial<ProblemResource> & { status: number; title: string },
    { retryAfterSeconds = null, cause }: { retryAfterSeconds?: number | null; cause?: unknown } = {},
  ) {
    super(problem.detail || problem.title, cause === undefined ? undefined : { cause });
    this.status = problem.status;
    this.title = problem.title;
    this.code = problem.code ?? "unexpected_answer";
    this.requestId = problem.instance ?? "";
    this.errors = problem.errors ?? [];
    this.workers = problem.workers ?? [];
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

const secondsUntil = (retryAfter: string | null): number | null => {
  const ms = retryAfterMs(retryAfter, Date.now());
  return ms === null ? null : ms / 1000;
};

const textOf = (...values: readonly unknown[]): string | undefined =>
  values.find((value) => typeof value === "string" && value !== "") as string | undefined;

const listOf = <Entry>(value: unknown): Entry[] => (Array.isArray(value) ? value : []);

interface Answer extends Pick<Response, "status" | "statusText" | "text"> {
  readonly headers: Pick<Headers, "get">;
}

/**
 * The problem of an answer that is not a success. The front door has its clients' error format, and a server between may
 * answer anything.
 */
export const problemOf = async (response: Answer): Promise<ApiProblem> => {
  const { status, statusText, headers } = response;
  const isJson = (headers.get("content-type") ?? "").includes("json");
  const body = objectOf(isJson ? parseJson(await response.text().catch(() => "")) : null);
  const said = objectOf(body.error);
  return new ApiProblem(
    {
      status,
      title: textOf(body.title, statusText) ?? `HTTP ${status}`,
      detail: textOf(body.detail, said.message) ?? "",
      code: textOf(body.code, said.code, said.type) ?? "unexpected_answer",
      instance: textOf(body.instance) ?? "",
      errors: listOf(body.errors),
      workers: listOf(body.workers),
    },
    { retryAfterSeconds: secondsUntil(headers.get("retry-after")) },
  );
};
