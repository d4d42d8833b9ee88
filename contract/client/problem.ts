// Every failure on the way to an answer, as one error: the service's problem documents, and the cases without such a
// document. `code` is stable and safe to branch on.

import type { RefusalCode } from "../../domain/refusal.ts";
import type { ProblemResource } from "../problem.ts";

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
  if (retryAfter === null) return null;
  const seconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : (Date.parse(retryAfter) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? null : Math.max(0, seconds);
};

/** The front door has its clients' error format. */
interface ClientsError {
  readonly error?: { readonly message: string; readonly type: string; readonly code?: string | null };
}

/** The problem of an answer that is not a success. */
export const problemOf = async (response: Response): Promise<ApiProblem> => {
  const retryAfterSeconds = secondsUntil(response.headers.get("retry-after"));
  const title = response.statusText || `HTTP ${response.status}`;
  const isProblem = (response.headers.get("content-type") ?? "").includes("json");
  const body = isProblem ? ((await response.json().catch(() => ({}))) as Partial<ProblemResource> & ClientsError) : {};
  const { error, ...problem } = body;
  const said = error === undefined ? {} : { detail: error.message, code: error.code ?? error.type };
  return new ApiProblem({ title, ...said, ...problem, status: response.status }, { retryAfterSeconds });
};
