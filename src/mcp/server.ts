// Answers messages of the Model Context Protocol (2026-07-28 and the clients before it), stateless: tools, and nothing
// else. The official server library is only the tests' yardstick (docs/decisions/mcp.md).

import * as z from "zod";
import type { openAiError } from "../../contract/front-door/door-error.ts";
import { presentRefusal, WIRE } from "../../contract/refusal.ts";
import { isObject, type JsonObject } from "../../contract/text/json-object.ts";
import type { ProblemResource } from "../../contract/words/problem.ts";
import { readAs } from "../../contract/words/validation.ts";
import { entryOf } from "../../contract/words/values.ts";
import { VERSION } from "../../contract/words/version.ts";
import type { Ask, ToolAnswer } from "./ask.ts";
import { CODES, EARLIER, META, NEWEST, type Reading, type Request, type RpcError } from "./message.ts";
import { TOOLS, type Tool } from "./tools.ts";

const INSTRUCTIONS =
  "Signalbox routes jobs (a prompt and optional input) to the best available worker of a fleet. Run work with run_job. Ask explain_dispatch or what_waits why something does not run.";

const SERVER = { name: "signalbox", version: VERSION };

/** The tools never change while a release runs. */
const CAPABILITIES = { tools: { listChanged: false } };

type Answer = { readonly result: JsonObject } | { readonly error: RpcError };

type Method = (params: JsonObject, ask: Ask, requestId: string) => Answer | Promise<Answer>;

const listTools: Method = () => ({ result: { tools: listed() } });

const callTool: Method = async ({ name, arguments: given = {} }, ask, requestId) => {
  const tool = typeof name === "string" ? entryOf(TOOLS, name) : undefined;
  if (tool === undefined) return { error: { code: CODES.invalidParams, message: `Tool ${name} not found` } };
  const args = readAs(tool.input, given);
  if (args.ok) return { result: resultOf(await tool.run(ask, args.value as never)) };
  return { result: refusedBy(presentRefusal(args.error, requestId)) };
};

const EARLIER_METHODS: Readonly<Record<string, Method>> = {
  initialize: ({ protocolVersion: asked }) => {
    // A client knows versions that are older than its own, not newer ones.
    const protocolVersion = EARLIER.find((one) => one <= String(asked)) ?? EARLIER[0];
    return {
      result: { protocolVersion, capabilities: CAPABILITIES, serverInfo: SERVER, instructions: INSTRUCTIONS },
    };
  },
  ping: () => ({ result: {} }),
  "tools/list": listTools,
  "tools/call": callTool,
};

const METHODS: Readonly<Record<string, Method>> = {
  "server/discover": () => ({
    result: { supportedVersions: [NEWEST], capabilities: CAPABILITIES, instructions: INSTRUCTIONS },
  }),
  "tools/list": listTools,
  "tools/call": callTool,
};

/** Whose results say how long a client may keep them: not at all, as a release may change them. */
const CACHEABLE = new Set(["server/discover", "tools/list"]);

export const answerMessage = async (reading: Reading, ask: Ask, requestId: string): Promise<Response> => {
  if (reading.kind === "notice") return new Response(null, { status: 202 });
  if (reading.kind === "refused") return reply(reading.id, { error: reading.error }, 400);
  const { id, method, params, isNewest } = reading;
  if (isNewest && method === "subscriptions/listen") return listen(reading);
  const methods = isNewest ? METHODS : EARLIER_METHODS;
  const known = entryOf(methods, method);
  if (known === undefined)
    return reply(id, { error: { code: CODES.methodNotFound, message: "Method not found" } }, isNewest ? 404 : 200);
  const answer = await known(params, ask, requestId);
  return reply(id, isNewest && "result" in answer ? { result: stamped(method, answer.result) } : answer, 200);
};

const reply = (id: Request["id"] | null, answer: Answer, status: number): Response =>
  Response.json({ jsonrpc: "2.0", id, ...answer }, { status });

const stamped = (method: string, result: JsonObject): JsonObject => ({
  ...result,
  resultType: "complete",
  ...(CACHEABLE.has(method) ? { ttlMs: 0, cacheScope: "private" } : {}),
  _meta: { [META.server]: SERVER },
});

/** A client that would hear of changes is told that there will be none, and is not left waiting. */
const listen = ({ id, params: { notifications } }: Request): Response => {
  if (!isObject(notifications))
    return reply(id, { error: { code: CODES.invalidParams, message: "notifications must be an object" } }, 200);
  const _meta = { [META.subscription]: id };
  const messages = [
    { method: "notifications/subscriptions/acknowledged", params: { notifications: {}, _meta } },
    { id, result: { resultType: "complete", _meta: { ..._meta, [META.server]: SERVER } } },
  ];
  const events = messages.map(
    (message) => `event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`,
  );
  return new Response(events.join(""), { headers: { "content-type": "text/event-stream" } });
};

const resultOf = ({ isOk, body }: ToolAnswer): JsonObject =>
  isOk
    ? { content: [{ type: "text", text: JSON.stringify(body) }], structuredContent: body }
    : refusedBy(body as Problem);

type Problem = Partial<ProblemResource & z.infer<typeof openAiError>>;

/** With its title and detail as text for people. Under /v1 it comes in OpenAI's form. */
const refusedBy = ({ error, ...problem }: Problem): JsonObject => {
  // Of the row only title and status are JSON.
  const told: JsonObject = error ? { ...entryOf(WIRE, error.code ?? ""), ...error, detail: error.message } : problem;
  const text = [told.title, told.detail].filter(Boolean).join(": ");
  return { content: [{ type: "text", text }], structuredContent: told, isError: true };
};

let tools: readonly JsonObject[] | null = null;

/** Made at the first question, because most isolates are never asked. */
const listed = (): readonly JsonObject[] => {
  tools ??= Object.entries(TOOLS).map(([name, tool]) => listing(name, tool));
  return tools;
};

const listing = (name: string, { title, description, input, effect }: Tool): JsonObject => ({
  name,
  title,
  description,
  inputSchema: z.toJSONSchema(input, { target: "draft-2020-12", io: "input" }),
  annotations: {
    title,
    readOnlyHint: effect === "reads",
    destructiveHint: effect === "destroys",
    openWorldHint: false,
  },
});
