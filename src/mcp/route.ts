// POST /mcp: the service as tools for AI agents. Stateless: each request has its own server.

import { createMcpHandler } from "@modelcontextprotocol/server";
import * as z from "zod";
import { type Endpoint, endpoint } from "../endpoint/router.ts";
import type { AppContext } from "../http/auth.ts";
import { readJson } from "../http/body.ts";
import { askWith, type Serve } from "./ask.ts";
import { mcpServer } from "./server.ts";

const message = z
  .looseObject({
    jsonrpc: z.literal("2.0"),
    id: z.union([z.string(), z.int()]).optional(),
    method: z.string(),
    params: z.looseObject({}).optional(),
  })
  .meta({ id: "McpMessage", description: "a JSON-RPC 2.0 message of the Model Context Protocol" });

const reply = z.looseObject({}).meta({ id: "McpReply", description: "a JSON-RPC 2.0 response, or a problem" });
const REPLY_MEDIA = ["application/json", "application/problem+json"];

/** A client without an Accept header gets what the specification requires every client to accept. */
const ACCEPTED = "application/json, text/event-stream";

const answerMessage = async (c: AppContext, serve: Serve): Promise<Response> => {
  const parsedBody = (await readJson(c)) ?? {};
  const handler = createMcpHandler(() => mcpServer(askWith(serve, c)));
  // The body has been read with its limit; the handler only looks at method and headers.
  const { url } = c.req.raw;
  const headers = new Headers(c.req.raw.headers);
  if (!headers.get("accept")?.includes("text/event-stream")) headers.set("accept", ACCEPTED);
  return handler.fetch(new Request(url, { method: "POST", headers }), { parsedBody });
};

export const mcpRoutes = (serve: Serve): readonly Endpoint[] => [
  endpoint(
    {
      method: "post",
      path: "/mcp",
      tag: "MCP",
      needs: "consult",
      summary: "Tools for AI agents (MCP)",
      description:
        "Model Context Protocol, specification 2026-07-28 (clients of 2025-11-25 work, too), stateless. A tool may do what the key's role allows; a refusal is a result with `isError` and the problem's title and detail.",
      rawBody: { schema: message, media: ["application/json"] },
      answers: {
        200: {
          description: "The answer to the message.",
          schema: reply,
          media: ["application/json", "text/event-stream"],
        },
        202: { description: "The notification was accepted." },
        400: {
          description: "Not an MCP message, or an unsupported protocol version.",
          schema: reply,
          media: REPLY_MEDIA,
        },
        404: { description: "Unknown method.", schema: reply, media: REPLY_MEDIA },
      },
    },
    (c) => answerMessage(c, serve),
  ),
];
