// How a tool calls the service: as a request to the app's own endpoints with the caller's credentials. Roles, limits,
// schemas and refusals are those of the API and are not repeated here.

import type { AppContext } from "../http/auth.ts";
import { EDGE_HEADER, USER_HEADER } from "../http/header-value.ts";

/** Answers a request as if it came from outside. */
export type Serve = (request: Request, c: AppContext) => Promise<Response> | Response;

export interface ToolAnswer {
  readonly isOk: boolean;
  readonly body: unknown;
}

export type Ask = (method: "GET" | "POST", path: string, body?: object) => Promise<ToolAnswer>;

/** The headers that identify the caller and the page that a browser's session is used from, and what a job is made by. */
const PASSED_ON = [
  "authorization",
  "x-api-key",
  "cookie",
  "origin",
  "sec-fetch-site",
  "host",
  "traceparent",
  EDGE_HEADER,
  USER_HEADER,
];

export const askWith =
  (serve: Serve, c: AppContext): Ask =>
  async (method, path, body) => {
    const headers = new Headers({ "x-request-id": c.get("requestId") });
    for (const name of PASSED_ON) {
      const value = c.req.header(name);
      if (value !== undefined) headers.set(name, value);
    }
    if (body !== undefined) headers.set("content-type", "application/json");
    const url = new URL(path, c.req.url);
    const answer = await serve(
      new Request(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }),
      c,
    );
    return { isOk: answer.ok, body: await answer.json() };
  };

/** A path with its query; undefined values are left out. */
export const pathOf = (path: string, query: Readonly<Record<string, unknown>>): string => {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  if (given.length === 0) return path;
  return `${path}?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
};
