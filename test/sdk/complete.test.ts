// Every endpoint of the OpenAPI document is a method of the SDK.

import { expect, it } from "vitest";
import { Signalbox } from "../../sdk/signalbox.ts";
import { endpoints } from "../../src/app.ts";
import { openApiDocument } from "../../src/endpoint/openapi.ts";
import { EndpointNotes, shapeOf } from "../contract/called-endpoints.ts";

/** Not plain calls: sockets, the package itself, links, and endpoints with clients of their own (OpenAI's, Anthropic's and MCP's). */
const ELSEWHERE = [
  /\.(tgz|whl)$/,
  /^GET \/files\//,
  /^GET \/live$/,
  /^GET \/api\/workers\/\{\}\/(connect|stream)$/,
  / \/v1\//,
  / \/mcp$/,
];
/** The bytes of a move, which the command line streams. */
const IN_A_MOVE = ["GET /admin/tenants/{}/files/{}", "PUT /admin/tenants/{}/files/{}"];
/** The data part of the worker protocol, only for workers: raw bodies under a lease, which no API caller has. */
const UNDER_A_LEASE = [
  "POST /api/jobs/{}/stream",
  "GET /api/jobs/{}/input",
  "POST /api/jobs/{}/files",
  "PUT /api/jobs/{}/result",
];

it("the SDK has a verb for every endpoint of the OpenAPI document", async () => {
  const notes = new EndpointNotes();
  await notes.callAll(new Signalbox({ url: "http://box", key: "sb_1", fetch: notes.fetch, retries: 0 }));
  const { paths } = openApiDocument(endpoints, "0") as { paths: Record<string, Record<string, unknown>> };
  const described = Object.entries(paths)
    .flatMap(([path, methods]) => Object.keys(methods).map((method) => shapeOf(method, path)))
    .filter(
      (shape) => !ELSEWHERE.some((pattern) => pattern.test(shape)) && ![...UNDER_A_LEASE, ...IN_A_MOVE].includes(shape),
    );
  expect(described.length).toBeGreaterThan(40);
  expect(described.filter((shape) => !notes.shapes.has(shape))).toEqual([]);
});
