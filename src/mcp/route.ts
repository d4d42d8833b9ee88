// POST /mcp: the service as tools for AI agents. Stateless: each message is answered for itself.

import * as z from "zod";
import { type Endpoint, endpoint } from "../endpoint/router.ts";
import { readJson } from "../http/body.ts";
import { askWith, type Serve } from "./ask.ts";
import { readMessage } from "./message.ts";
import { answerMessage } from "./server.ts";

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
    async (c) =>
      answerMessage(
        readMessage(await readJson(c), (name) => c.req.header(name)),
        askWith(serve, c),
        c.get("requestId"),
      ),
  ),
];
