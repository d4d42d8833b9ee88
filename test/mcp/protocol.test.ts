// The protocol by hand beside the official library: both answer each message alike.

import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import { VERSION } from "../../contract/words/version.ts";
import type { Ask } from "../../src/mcp/ask.ts";
import { META, readMessage } from "../../src/mcp/message.ts";
import { answerMessage } from "../../src/mcp/server.ts";
import { TOOLS } from "../../src/mcp/tools.ts";

const ask: Ask = async (method, path, body) => ({ isOk: true, body: { method, path, ...body } });

const library = () => {
  const server = new McpServer(
    { name: "signalbox", version: VERSION },
    { capabilities: { tools: { listChanged: false } } },
  );
  for (const [name, { title, description, input, effect, run }] of Object.entries(TOOLS)) {
    const annotations = {
      title,
      readOnlyHint: effect === "reads",
      destructiveHint: effect === "destroys",
      openWorldHint: false,
    };
    server.registerTool(name, { title, description, inputSchema: input, annotations }, async (args: unknown) => {
      const { body } = await run(ask, args as never);
      const structuredContent = body as Record<string, unknown>;
      return { content: [{ type: "text" as const, text: JSON.stringify(body) }], structuredContent };
    });
  }
  return server;
};

const handler = createMcpHandler(library);

interface Reply {
  readonly id?: unknown;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number };
}

/** Without the words of the instructions and of errors, also as a problem: these are ours. */
const outline = async (response: Response) => {
  const text = await response.text();
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
  const parts = isStream ? text.split("\n\n").map((event) => event.split("\ndata: ")[1] ?? "") : [text];
  const replies = parts.filter((part) => part !== "").map((part) => JSON.parse(part) as Reply);
  return {
    status: response.status,
    replies: replies.map(({ result, error, ...rest }) => ({
      ...rest,
      ...(error === undefined ? {} : { code: error.code }),
      ...(result === undefined ? {} : { result: withoutWords(result) }),
    })),
  };
};

const withoutWords = ({ instructions, content, structuredContent, ...result }: Record<string, unknown>) =>
  result.isError === true
    ? { ...result, said: Array.isArray(content) }
    : { ...result, content, ...(structuredContent === undefined ? {} : { structuredContent }) };

const ours = async (body: unknown, headers: Headers) =>
  outline(
    await answerMessage(
      readMessage(body, (name) => headers.get(name) ?? undefined),
      ask,
      "r1",
    ),
  );

const theirs = async (body: unknown, headers: Headers) => {
  headers.set("content-type", "application/json");
  headers.set("accept", "application/json, text/event-stream");
  return outline(await handler.fetch(new Request("http://x/mcp", { method: "POST", headers }), { parsedBody: body }));
};

const ENVELOPE = {
  [META.version]: "2026-07-28",
  [META.client]: { name: "t", version: "1" },
  [META.capabilities]: {},
};
const newest = (method: string, params: object = {}, meta: object = ENVELOPE) => ({
  jsonrpc: "2.0",
  id: 1,
  method,
  params: { ...params, _meta: meta },
});
const earlier = (method: string, params?: object) => ({ jsonrpc: "2.0", id: "a", method, ...(params && { params }) });
const headers = (method: string, name?: string) => ({
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": method,
  ...(name === undefined ? {} : { "mcp-name": name }),
});
const GET_JOB = { name: "get_job", arguments: { id: "a" } };
const hello = (protocolVersion: string) =>
  earlier("initialize", { protocolVersion, capabilities: {}, clientInfo: { name: "t", version: "1" } });

const SAME: Readonly<Record<string, readonly [body: unknown, headers?: Record<string, string>]>> = {
  "an earlier client begins": [hello("2025-11-25")],
  "a much earlier client begins": [hello("2024-11-05")],
  "a client of an unknown version begins": [hello("1999-01-01")],
  "an earlier client begins with the newest header": [hello("2025-11-25"), headers("initialize")],
  "an earlier client has begun": [{ jsonrpc: "2.0", method: "notifications/initialized" }],
  "an earlier client pings": [earlier("ping")],
  "an earlier client lists the tools": [earlier("tools/list"), { "mcp-protocol-version": "2025-06-18" }],
  "an earlier client calls a tool": [earlier("tools/call", GET_JOB)],
  "an earlier client gives wrong arguments": [earlier("tools/call", { name: "get_job", arguments: { id: 7, x: 1 } })],
  "an earlier client gives no arguments": [earlier("tools/call", { name: "get_job" })],
  "an earlier client calls an unknown tool": [earlier("tools/call", { name: "nope" })],
  "an earlier client calls a tool of every object": [earlier("tools/call", { name: "constructor" })],
  "an earlier client calls no tool": [earlier("tools/call", {})],
  "an earlier client asks what is not here": [earlier("resources/list")],
  "an earlier client asks what is newer": [earlier("subscriptions/listen", { notifications: {} })],
  "a client posts an answer": [{ jsonrpc: "2.0", id: 1, result: {} }],
  "a message without its version": [{ id: 1, method: "ping" }],
  "a message with an id that is none": [{ jsonrpc: "2.0", id: null, method: "ping" }],
  "a message that is none": [7],
  "the newest client discovers": [newest("server/discover"), headers("server/discover")],
  "the newest client lists the tools": [newest("tools/list"), headers("tools/list")],
  "the newest client calls a tool": [newest("tools/call", GET_JOB), headers("tools/call", "get_job")],
  "the newest client encodes a tool's name": [
    newest("tools/call", GET_JOB),
    headers("tools/call", `=?base64?${btoa("get_job")}?=`),
  ],
  "the newest client encodes it wrongly": [newest("tools/call", GET_JOB), headers("tools/call", "=?base64?%%?=")],
  "the newest client names another tool": [newest("tools/call", GET_JOB), headers("tools/call", "list_jobs")],
  "the newest client names no tool": [newest("tools/call", GET_JOB), headers("tools/call")],
  "the newest client gives wrong arguments": [
    newest("tools/call", { name: "get_job", arguments: { id: 7 } }),
    headers("tools/call", "get_job"),
  ],
  "the newest client calls an unknown tool": [newest("tools/call", { name: "no" }), headers("tools/call", "no")],
  "the newest client calls no tool": [newest("tools/call"), headers("tools/call")],
  "the newest client pings": [newest("ping"), headers("ping")],
  "the newest client begins": [newest("initialize"), headers("initialize")],
  "the newest client asks what is not here": [newest("prompts/list"), headers("prompts/list")],
  "a newest message without headers": [newest("tools/list")],
  "a newest message without a method's header": [newest("tools/list"), { "mcp-protocol-version": "2026-07-28" }],
  "a newest message with another method's header": [newest("tools/list"), headers("tools/call")],
  "a newest message with another version's header": [
    newest("tools/list"),
    { ...headers("tools/list"), "mcp-protocol-version": "2025-11-25" },
  ],
  "the newest headers without an envelope": [earlier("tools/list"), headers("tools/list")],
  "an envelope without capabilities": [
    newest("tools/list", {}, { [META.version]: "2026-07-28" }),
    headers("tools/list"),
  ],
  "an envelope with a client that is none": [
    newest("tools/list", {}, { ...ENVELOPE, [META.client]: 7 }),
    headers("tools/list"),
  ],
  "an envelope with a version that is none": [
    newest("tools/list", {}, { ...ENVELOPE, [META.version]: 7 }),
    headers("tools/list"),
  ],
  "an envelope of a later version": [
    newest("tools/list", {}, { ...ENVELOPE, [META.version]: "2027-01-01" }),
    { ...headers("tools/list"), "mcp-protocol-version": "2027-01-01" },
  ],
  "an envelope of an earlier version": [
    newest("tools/list", {}, { ...ENVELOPE, [META.version]: "2025-11-25" }),
    { ...headers("tools/list"), "mcp-protocol-version": "2025-11-25" },
  ],
  "a newest notification": [
    { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1, _meta: ENVELOPE } },
    headers("notifications/cancelled"),
  ],
  "a newest client listens for changes": [
    newest("subscriptions/listen", { notifications: { toolsListChanged: true } }),
    headers("subscriptions/listen"),
  ],
  "a newest client listens for nothing": [newest("subscriptions/listen"), headers("subscriptions/listen")],
};

describe("the official library and this server say the same when", () => {
  test.each(Object.entries(SAME))("%s", async (_, [body, given = {}]) => {
    expect(await ours(body, new Headers(given))).toEqual(await theirs(body, new Headers(given)));
  });
});

test("a batch is refused, and so is an unknown version's header", async () => {
  expect(await ours([earlier("ping")], new Headers())).toMatchObject({ status: 400, replies: [{ code: -32600 }] });
  const unknown = new Headers({ "mcp-protocol-version": "1999-01-01" });
  expect(await ours(earlier("ping"), unknown)).toMatchObject({ status: 400, replies: [{ code: -32022 }] });
});

test("the version that requires batches is not offered: its client gets the one before", async () => {
  const [began] = (await ours(hello("2025-03-26"), new Headers())).replies;
  expect(began).toMatchObject({ result: { protocolVersion: "2024-11-05" } });
  const after = new Headers({ "mcp-protocol-version": "2025-03-26" });
  expect(await ours(earlier("ping"), after)).toMatchObject({ status: 400, replies: [{ code: -32022 }] });
});
