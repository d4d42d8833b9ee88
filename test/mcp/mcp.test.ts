// The MCP server as agents use it: the official clients of both specifications against the self-hosted server.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";
import { folderForAllTests } from "../support/temporary-folder.ts";

const data = folderForAllTests();
let server: SelfHosted;

beforeAll(async () => {
  server = await startSelfHosted(data.path, { args: [], env: { SERVICE_RUNTIME_URL: "" } });
}, 90_000);

afterAll(async () => {
  await server.stop();
});

interface Called {
  readonly isError?: boolean;
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly structuredContent?: unknown;
}

interface Agent {
  readonly tools: () => Promise<
    { name: string; annotations?: { readOnlyHint?: boolean; destructiveHint?: boolean } }[]
  >;
  readonly call: (name: string, args?: Record<string, unknown>) => Promise<Called>;
  readonly close: () => Promise<void>;
}

/** Its default would be the specification before. */
const NEWEST = { mode: { pin: "2026-07-28" } };

const keyed = (key: string) => ({ requestInit: { headers: { authorization: `Bearer ${key}` } } });
const about = { name: "test", version: "1" };

const connect: Record<string, (key: string) => Promise<Agent>> = {
  "the client of 2026-07-28": async (key) => {
    const client = new Client(about, { versionNegotiation: NEWEST });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), keyed(key)));
    return {
      tools: async () => (await client.listTools()).tools as Awaited<ReturnType<Agent["tools"]>>,
      call: async (name, args = {}) => (await client.callTool({ name, arguments: args })) as Called,
      close: () => client.close(),
    };
  },
  "the client of 2025-11-25": async (key) => {
    const client = new OldClient(about);
    await client.connect(new OldTransport(new URL(`${server.url}/mcp`), keyed(key)) as never);
    return {
      tools: async () => (await client.listTools()).tools as Awaited<ReturnType<Agent["tools"]>>,
      call: async (name, args = {}) => (await client.callTool({ name, arguments: args })) as Called,
      close: () => client.close(),
    };
  },
};

const textOf = (called: Called): string => called.content.map((part) => part.text ?? "").join("");

describe.each(Object.entries(connect))("%s", (_, open) => {
  test("goes an agent's usual loop: lists tools, runs a job, asks why one waits, pulls the killswitch", async () => {
    const agent = await open(server.adminKey);
    const tools = await agent.tools();
    expect(tools.map((tool) => tool.name).sort()).toEqual([
      "cancel_job",
      "cost_summary",
      "engage_killswitch",
      "explain_dispatch",
      "get_batch",
      "get_job",
      "killswitch_status",
      "list_jobs",
      "list_models",
      "list_workers",
      "pause_worker",
      "resume_worker",
      "retry_job",
      "run_batch",
      "run_job",
      "what_fails",
      "what_waits",
    ]);
    expect(tools.find((tool) => tool.name === "get_job")?.annotations).toMatchObject({ readOnlyHint: true });
    expect(tools.find((tool) => tool.name === "engage_killswitch")?.annotations).toMatchObject({
      destructiveHint: true,
      readOnlyHint: false,
    });

    const ran = await agent.call("run_job", { prompt: "hello from an agent", provider: "echo" });
    expect(ran.isError ?? false).toBe(false);
    expect(ran.structuredContent).toMatchObject({ status: "completed" });

    const waits = await agent.call("run_job", { prompt: "never", tags: ["no-such-tag"], wait_seconds: 0 });
    const { id, status } = waits.structuredContent as { id: string; status: string };
    expect(status).toBe("pending");
    const why = await agent.call("explain_dispatch", { job_id: id });
    expect(textOf(why)).toContain("no-such-tag");

    const halted = await agent.call("engage_killswitch", { level: 4, reason: "an agent saw smoke" });
    expect(halted.structuredContent).toMatchObject({ level: 4, active: true });
    const refused = await agent.call("run_job", { prompt: "not now" });
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toMatch(/killswitch/i);
    const cleared = await fetch(`${server.url}/killswitch?resume_all=true`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${server.adminKey}` },
    });
    expect(cleared.status).toBe(200);
    expect((await agent.call("cancel_job", { id })).isError ?? false).toBe(false);
    await agent.close();
  });

  test("hears a refusal as a result with the problem's words", async () => {
    const agent = await open(server.adminKey);
    const refused = await agent.call("get_job", { id: "no-such-job" });
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toMatch(/no-such-job/);
    expect(refused.structuredContent).toMatchObject({ status: 404, code: "not_found" });
    const batch = { input_file_id: "file-none", endpoint: "/v1/chat/completions" };
    const none = await agent.call("run_batch", batch);
    expect(textOf(none)).toBe('Not found: file "file-none" not found');
    expect(none.structuredContent).toMatchObject({ status: 404, code: "not_found", title: "Not found" });
    const typo = await agent.call("list_jobs", { statsu: "failed" });
    expect(typo.isError).toBe(true);
    expect(textOf(typo)).toBe('Invalid request: statsu: unknown field "statsu"; did you mean "status"?');
    const errors = [{ path: "statsu", message: 'unknown field "statsu"; did you mean "status"?' }];
    expect(typo.structuredContent).toMatchObject({ status: 400, code: "invalid_request", errors });
    await agent.close();
  });

  test("may do with a worker's key what that key may do", async () => {
    const made = await fetch(`${server.url}/api/keys`, {
      method: "POST",
      headers: { authorization: `Bearer ${server.adminKey}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "a worker", role: "worker" }),
    });
    const { key } = (await made.json()) as { key: string };
    const agent = await open(key);
    const refused = await agent.call("engage_killswitch", { level: 1, reason: "no" });
    expect(refused.isError).toBe(true);
    await agent.close();
  });
});

test("a client that would hear of changed tools is not left waiting, because they never change", async () => {
  const client = new Client(about, { versionNegotiation: NEWEST });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), keyed(server.adminKey)));
  expect(client.getServerCapabilities()?.tools).toEqual({ listChanged: false });
  const listening = await client.listen({ toolsListChanged: true });
  expect(await listening.closed).toBe("graceful");
  await client.close();
});

test("without a key it is 401, and a GET is 405", async () => {
  const message = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const stranger = await fetch(`${server.url}/mcp`, { method: "POST", headers, body: JSON.stringify(message) });
  expect(stranger.status).toBe(401);
  expect((await fetch(`${server.url}/mcp`)).status).toBe(405);
});

test("an agent's job is made as the request's headers say: for whom, and not by a hosted provider", async () => {
  const args = { prompt: "mine", tags: ["no-such-tag"], wait_seconds: 0 };
  const answer = await fetch(`${server.url}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${server.adminKey}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "x-signalbox-edge": "off",
      "x-signalbox-user": "ada",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "run_job", arguments: args } }),
  });
  const { result } = (await answer.json()) as { result: Called };
  expect(result.structuredContent).toMatchObject({ prompt: "mine", edge: false, fairness_key: "ada" });
});

test("a refusal names its request, as the log does, also one of a tool's arguments", async () => {
  const headers = { authorization: `Bearer ${server.adminKey}`, "content-type": "application/json" };
  for (const args of [{ id: "none" }, { statsu: "failed" }]) {
    const called = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "get_job", arguments: args } };
    const answer = await fetch(`${server.url}/mcp`, { method: "POST", headers, body: JSON.stringify(called) });
    const { result } = (await answer.json()) as { result: Called };
    expect(result.structuredContent).toMatchObject({ instance: answer.headers.get("x-request-id") });
  }
});
