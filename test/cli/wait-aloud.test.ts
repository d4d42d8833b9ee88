// A command that waits for a job says what the job waits for.

import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { SIGNALBOX } from "../support/command-line.ts";
import { runCommand } from "./run-command.ts";

const pending = (waiting_reason: string | null) => ({ status: "pending", waiting_reason });
const COMPLETED = { status: "completed", waiting_reason: null, result: { text: "done" }, result_files: [] };

/** A service that answers each reading of the job with the next of these, and the last one from then on. */
const jobThatIs = (states: readonly object[]) => {
  const left = [...states];
  return (url: URL, { method }: RequestInit) => {
    const next = left.length > 1 && method === "GET" ? left.shift() : left[0];
    const job = { id: "j-1", error: null, ...next };
    if (!url.pathname.endsWith("/stream")) return job;
    return new Response('id: 1\nevent: chunk\ndata: {"text":"done"}\n\nid: 2\nevent: end\ndata: {}\n\n', {
      headers: { "content-type": "text/event-stream" },
    });
  };
};

const GPU = 'no worker offers tag "gpu"';
const PAUSED = 'worker "w1" is paused';

describe.each([[["run", "hi", "--wait"]], [["jobs", "get", "j-1", "--wait"]]])("%j", (argv) => {
  it("says each new reason once, on stderr alone", async () => {
    const states = [pending(GPU), pending(GPU), pending(PAUSED), pending(PAUSED), COMPLETED];
    const { out, err } = await runCommand([...argv, "--json"], jobThatIs(states));
    expect(err).toBe(`Job j-1 waits: ${GPU}\nJob j-1 waits: ${PAUSED}\n`);
    expect(JSON.parse(out)).toMatchObject({ id: "j-1", status: "completed" });
  });

  it("says it again after the job had begun and waits once more", async () => {
    const running = { status: "running", waiting_reason: null };
    const { err } = await runCommand(argv, jobThatIs([pending(GPU), running, pending(GPU), COMPLETED]));
    expect(err.match(/waits/g)).toHaveLength(2);
  });

  it("says nothing of a job that does not wait", async () => {
    expect((await runCommand(argv, jobThatIs([COMPLETED]))).err).toBe("");
  });
});

it("run --stream says it, too, and leaves the output alone", async () => {
  const { out, err, code } = await runCommand(["run", "hi", "--stream"], jobThatIs([pending(GPU), COMPLETED]));
  expect(out).toBe("done\n");
  expect(err).toBe(`Job j-1\nJob j-1 waits: ${GPU}\n`);
  expect(code).toBe(0);
});

it("jobs watch goes on where the service was away meanwhile", async () => {
  let looks = 0;
  const { out, err, code } = await runCommand(["jobs", "watch", "j-1"], () => {
    looks += 1;
    // Once more than a call repeats itself.
    if (looks <= 3) return Promise.reject(new TypeError("the connection was refused"));
    return { id: "j-1", prompt: "hi", created_at: "2026-11-22T10:00:00.000Z", assigned_worker: null, ...COMPLETED };
  });
  expect(out).toContain("completed");
  expect(err).toContain("No answer from Signalbox");
  expect(code).toBe(0);
});

it("a service that refuses for a while is said in one line, however often it is asked", async () => {
  let asked = 0;
  const server = createServer((_request, response) => {
    asked += 1;
    const isAway = asked <= 3;
    const problem = { code: "tenant_unavailable", title: "Unavailable", detail: "The tenant does not answer" };
    response.writeHead(isAway ? 503 : 200, {
      "content-type": isAway ? "application/problem+json" : "application/json",
    });
    response.end(JSON.stringify(isAway ? problem : { id: "j-1", error: null, ...COMPLETED }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const env = { PATH: process.env.PATH, HOME: "/nowhere", SERVICE_API_KEY: "sb_1", SERVICE_API_URL: url };
  const args = [SIGNALBOX, "jobs", "get", "j-1", "--wait"];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { env });
  server.close();
  expect([stderr, asked]).toEqual(["The tenant does not answer: tries again\n", 4]);
  expect(stdout).toContain("done");
});
