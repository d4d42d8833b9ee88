// The MCP server of one request (specification 2026-07-28, stateless; clients of 2025-11-25 work, too).

import { McpServer } from "@modelcontextprotocol/server";
import { VERSION } from "../../contract/version.ts";
import type { Ask, ToolAnswer } from "./ask.ts";
import { TOOLS, type Tool } from "./tools.ts";

const INSTRUCTIONS =
  "Signalbox routes jobs (a prompt and optional input) to the best available worker of a fleet. Run work with run_job. Ask explain_dispatch or what_waits why something does not run.";

/** The tools never change while a release runs, so a client that listens for changes is not left waiting. */
const capabilities = { tools: { listChanged: false } };

const hintsOf = ({ effect }: Tool) => ({
  readOnlyHint: effect === "reads",
  destructiveHint: effect === "destroys",
  openWorldHint: false,
});

/** A problem's title and detail, as text for people. */
const refusalText = (body: unknown): string => {
  const { title, detail } = (body ?? {}) as { title?: string; detail?: string };
  return [title, detail].filter((part) => part !== undefined && part !== "").join(": ") || "the request was refused";
};

const resultOf = ({ isOk, body }: ToolAnswer) =>
  isOk
    ? {
        content: [{ type: "text" as const, text: JSON.stringify(body) }],
        structuredContent: body as Record<string, unknown>,
      }
    : { content: [{ type: "text" as const, text: refusalText(body) }], isError: true };

export const mcpServer = (ask: Ask): McpServer => {
  const server = new McpServer({ name: "signalbox", version: VERSION }, { instructions: INSTRUCTIONS, capabilities });
  for (const [name, tool] of Object.entries(TOOLS)) {
    const { title, description, input } = tool;
    server.registerTool(
      name,
      { title, description, inputSchema: input, annotations: { title, ...hintsOf(tool) } },
      async (args: unknown) => resultOf(await tool.run(ask, args as never)),
    );
  }
  return server;
};
