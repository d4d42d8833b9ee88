// The page's one way to the coordinator: same origin, session cookie, JSON both ways. Every refusal is an ApiProblem
// that says in words what went wrong; whoever calls shows it, nobody swallows it.

import type { ProblemResource } from "../contract/problem.ts";

export type Query = Record<string, string | number | boolean | null | undefined>;

interface CallOptions {
  query?: Query | undefined;
  json?: unknown;
  yaml?: string | undefined;
  headers?: Record<string, string> | undefined;
  signal?: AbortSignal | undefined;
}

export class ApiProblem extends Error {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly requestId: string;
  readonly errors: readonly { path: string; message: string }[];
  readonly workers: readonly unknown[];

  constructor(problem: Partial<ProblemResource> & { status: number; title: string }) {
    super(problem.detail || problem.title);
    this.status = problem.status;
    this.title = problem.title;
    this.code = problem.code ?? "unknown";
    this.requestId = problem.instance ?? "";
    this.errors = problem.errors ?? [];
    this.workers = problem.workers ?? [];
  }
}

const UNREACHABLE = { status: 0, code: "unreachable", title: "Signalbox cannot be reached" };

let onSignedOut: () => void = () => {};
/** Called when a request finds that the session has ended. */
export const whenSignedOut = (handler: () => void): void => {
  onSignedOut = handler;
};

const withQuery = (path: string, query: Query = {}): string => {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  if (given.length === 0) return path;
  return `${path}?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
};

const requestOf = (method: string, { json, yaml, headers, signal }: CallOptions): RequestInit => {
  const request: RequestInit = { method, credentials: "same-origin", headers: { ...headers } };
  if (signal !== undefined) request.signal = signal;
  const type = yaml === undefined ? "application/json" : "application/yaml";
  if (yaml !== undefined || json !== undefined) {
    request.headers = { "Content-Type": type, ...headers };
    request.body = yaml ?? JSON.stringify(json);
  }
  return request;
};

const problemOf = async (response: Response): Promise<ApiProblem> => {
  const fallback = { status: response.status, title: response.statusText || `HTTP ${response.status}` };
  const body = (await response.json().catch(() => ({}))) as Partial<ProblemResource>;
  return new ApiProblem({ ...fallback, ...body });
};

export const send = async (method: string, path: string, options: CallOptions = {}): Promise<Response> => {
  let response: Response;
  try {
    response = await fetch(withQuery(path, options.query), requestOf(method, options));
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new ApiProblem({ ...UNREACHABLE, detail: "No answer from Signalbox. Check that it runs and try again." });
  }
  if (response.ok) return response;
  if (response.status === 401 && path !== "/session") onSignedOut();
  throw await problemOf(response);
};

const call = async <Answer>(method: string, path: string, options?: CallOptions): Promise<Answer> => {
  const response = await send(method, path, options);
  return (response.status === 204 ? undefined : await response.json()) as Answer;
};

export const get = <Answer>(path: string, query?: Query, signal?: AbortSignal): Promise<Answer> =>
  call("GET", path, { query, signal });
export const post = <Answer>(path: string, json?: unknown, options: CallOptions = {}): Promise<Answer> =>
  call("POST", path, { json, ...options });
export const put = <Answer>(path: string, json: unknown): Promise<Answer> => call("PUT", path, { json });
export const patch = <Answer>(path: string, json: unknown): Promise<Answer> => call("PATCH", path, { json });
export const del = <Answer>(path: string, query?: Query): Promise<Answer> => call("DELETE", path, { query });

/** `api/jobs` and an id that may be any text, as one path. */
export const under = (collection: string, ...parts: string[]): string =>
  [collection, ...parts.map(encodeURIComponent)].join("/");
