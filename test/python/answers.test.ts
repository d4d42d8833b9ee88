// A Python worker beside something that answers in place of its coordinator, or later than it decides.

import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { json, text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { ROOT } from "../../self-host/run-command.ts";
import { eventually } from "../support/eventually.ts";
import { lacksPython, type Program, startProgram } from "../support/python.ts";
import { folderForEachTest } from "../support/temporary-folder.ts";

const WORKER = `
from signalbox import run, worker

@worker(provider="py", instance="py-1", concurrency=2)
def upper(job, ctx): return job["prompt"].upper()

run()
`;

/** A job of it lasts for some heartbeats. */
const SLOW_WORKER = WORKER.replace("return", "import time; time.sleep(2); return");

const PRESENCE = { heartbeat_interval_seconds: 1, killswitch: { active: false }, halted: [], jobs: [] };

interface Given {
  readonly status?: number;
  readonly body: string;
}
type Answer = (asked: IncomingMessage) => Given | Promise<Given>;

const serving = async (answer: Answer): Promise<Server> => {
  const server = createServer(async (asked, response) => {
    const { status = 200, body } = await answer(asked);
    asked.resume();
    response.writeHead(status, { location: "http://login.example/" }).end(body);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
};

const JOB = { id: "j1", lease: 1, attempts: 0, prompt: "x", provider: "py" };

/** A coordinator that gives these jobs once. `answer`: what it says to anything else, if that is special. */
const giving = (
  jobs: readonly object[],
  answer: (asked: IncomingMessage) => Promise<Given | undefined>,
): Promise<Server> => {
  let left = jobs;
  return serving(async (asked) => {
    if (asked.url?.includes("/claim")) {
      const given = left;
      left = [];
      return { body: JSON.stringify({ jobs: given }) };
    }
    return (await answer(asked)) ?? { body: asked.url === "/presence" ? JSON.stringify(PRESENCE) : "{}" };
  });
};

const startBeside = (server: Server, file: string, program: string, more: NodeJS.ProcessEnv = {}): Program => {
  writeFileSync(file, program);
  const { port } = server.address() as AddressInfo;
  return startProgram(file, {
    TMPDIR: path.dirname(file),
    PATH: process.env.PATH,
    PYTHONPATH: path.join(ROOT, "python"),
    PYTHONDONTWRITEBYTECODE: "1",
    SERVICE_API_URL: `http://127.0.0.1:${port}/#/fleet`, // as it is copied from a browser
    SERVICE_API_KEY: "key",
    ...more,
  });
};

describe.skipIf(lacksPython)("a Python worker", () => {
  const folder = folderForEachTest();

  const start = (server: Server): Program => startBeside(server, path.join(folder.path, "worker.py"), WORKER);

  const end = async (server: Server, worker: Program): Promise<void> => {
    expect(worker.output()).not.toContain("Traceback");
    expect(await worker.stop()).toBe(0);
    server.closeAllConnections();
    server.close();
  };

  it("goes on claiming where something between answers for the coordinator for a while", async () => {
    const given: readonly Given[] = [
      { body: "" },
      { body: "[]" },
      { status: 302, body: "" },
      { status: 403, body: "<html>" },
    ];
    let claims = 0;
    const server = await serving(({ url }) => {
      if (url?.includes("/claim") !== true) return { body: JSON.stringify(PRESENCE) };
      claims += 1;
      return given[claims - 1] ?? { body: `{"jobs": []}` };
    });
    const worker = start(server);
    await eventually(() => expect(claims).toBeGreaterThan(given.length));
    await end(server, worker);
  });

  it("says once that its coordinator is of another version, and where that version is", async () => {
    const server = await giving([], async ({ url }) =>
      url === "/health" ? { body: `{"status": "ok", "version": "9.9.9"}` } : undefined,
    );
    const worker = start(server);
    const { port } = server.address() as AddressInfo;
    const place = `http://127.0.0.1:${port}/signalbox-9.9.9-py3-none-any.whl`;
    const words = `the coordinator is 9.9.9: pip install ${place} has the same version`;
    await eventually(() => expect(worker.output().split(words)).toHaveLength(2));
    await end(server, worker);
  });

  it("sends a file again while nothing answers at its coordinator's address", async () => {
    const program = `
import time
from signalbox import run, worker

@worker(provider="py", instance="py-1")
def keep(job, ctx):
    time.sleep(1)
    return ctx.file("a.txt", b"hi")["id"]

run()
`;
    const done: string[] = [];
    const server = await giving([JOB], async ({ url = "" }) => {
      if (url.endsWith("/start")) setTimeout(() => server.close().closeAllConnections(), 100);
      if (!url.includes("/files?") && !url.endsWith("/complete")) return undefined;
      done.push(url.split("?")[0] ?? "");
      return { body: `{"id": "file-1"}` };
    });
    const { port } = server.address() as AddressInfo;
    const worker = startBeside(server, path.join(folder.path, "keep.py"), program);
    await eventually(() => expect(server.listening).toBe(false));
    // Longer than the handler takes.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    server.listen(port, "127.0.0.1");
    await eventually(() => expect(done).toEqual(["/api/jobs/j1/files", "/api/jobs/j1/complete"]));
    await end(server, worker);
  });

  it("starts jobs beside each other, however long the coordinator takes to hear of one", async () => {
    const jobs = ["j1", "j2"].map((id) => ({ ...JOB, id }));
    const bothStarted = Promise.withResolvers<void>();
    let starts = 0;
    const server = await giving(jobs, async ({ url = "" }) => {
      if (!url.endsWith("/start")) return undefined;
      starts += 1;
      if (starts === jobs.length) bothStarted.resolve();
      await bothStarted.promise;
      return undefined;
    });
    const worker = start(server);
    await bothStarted.promise;
    await end(server, worker);
  });

  it.each([
    ["is lost meanwhile", 409],
    ["is refused", 400],
    ["has no room", 507],
  ])("tells what a job spent whose long result %s", async (_why, status) => {
    const told = Promise.withResolvers<unknown>();
    const server = await giving([JOB], async (asked) => {
      const { url = "" } = asked;
      if (url.includes("/result")) {
        await text(asked);
        return { status, body: JSON.stringify({ status, code: "refused", detail: "no" }) };
      }
      if (url.endsWith("/fail")) told.resolve(await json(asked));
      return undefined;
    });
    const long = WORKER.replace(
      `return job["prompt"].upper()`,
      `ctx.usage(5, 2); ctx.cost(0.5); return "x" * 1_100_000`,
    );
    const worker = startBeside(server, path.join(folder.path, "worker.py"), long);
    const spent = { usage: { input_tokens: 5, output_tokens: 2 }, cost_usd: 0.5 };
    expect(await told.promise).toMatchObject({ lease: 1, error: { code: "result_refused" }, ...spent });
    await end(server, worker);
  });

  it("tells what a job spent that it gives back as it ends", async () => {
    const started = Promise.withResolvers<void>();
    const told: unknown[] = [];
    const server = await giving([JOB], async (asked) => {
      const { url = "" } = asked;
      if (url.endsWith("/heartbeat")) started.resolve();
      if (url.endsWith("/release")) told.push("released");
      if (url.endsWith("/fail")) told.push(await json(asked));
      return undefined;
    });
    const waiting = `ctx.usage(5, 2); ctx.progress(0.1); import time; time.sleep(60)`;
    const slow = WORKER.replace(`return job["prompt"].upper()`, waiting);
    const worker = startBeside(server, path.join(folder.path, "worker.py"), slow);
    await started.promise;
    await end(server, worker);
    expect(told).toEqual(["released", expect.objectContaining({ usage: { input_tokens: 5, output_tokens: 2 } })]);
  });

  it("sends the stream of a job by the environment's proxy, as its other requests", async () => {
    const streamed = Promise.withResolvers<unknown>();
    const proxy = await giving([{ ...JOB, stream: true }], async (asked) => {
      if (asked.url?.includes("/stream") !== true) return undefined;
      const by = asked.headers["proxy-authorization"];
      streamed.resolve([asked.url, by, await text(asked)]);
      return undefined;
    });
    const { port } = proxy.address() as AddressInfo;
    const writing = WORKER.replace(`return job["prompt"].upper()`, `yield "ab"`);
    const worker = startBeside(proxy, path.join(folder.path, "worker.py"), writing, {
      SERVICE_API_URL: "http://coordinator.invalid:8787",
      http_proxy: `http://me:p%40ss@127.0.0.1:${port}`,
    });
    expect(await streamed.promise).toEqual([
      "http://coordinator.invalid:8787/api/jobs/j1/stream?lease=1",
      `Basic ${Buffer.from("me:p@ss").toString("base64")}`,
      `data: {"text": "ab"}\n\n`,
    ]);
    await end(proxy, worker);
  });

  it("ends the stream of an answer without events, for which the coordinator would wait", async () => {
    const asked: string[] = [];
    const server = await giving([{ ...JOB, api: "audio/transcriptions", stream: true }], async ({ url = "" }) => {
      if (url.startsWith("/api/jobs/")) asked.push(url);
      return undefined;
    });
    const worker = startBeside(server, path.join(folder.path, "worker.py"), WORKER);
    await eventually(() => expect(asked).toContain("/api/jobs/j1/complete"));
    await end(server, worker);
    expect(asked).toEqual(["/api/jobs/j1/start", "/api/jobs/j1/stream?lease=1", "/api/jobs/j1/complete"]);
  });

  it("does not call a job taken back whose report comes before its presence is answered", async () => {
    const reported = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    const server = await giving([JOB], async (asked) => {
      const { url = "" } = asked;
      if (url.endsWith("/complete")) {
        reported.resolve();
        await answered.promise;
      }
      if (url !== "/presence") return undefined;
      const { jobs } = (await json(asked)) as { jobs: string[] };
      if (!jobs.includes(JOB.id)) return undefined;
      await reported.promise;
      setTimeout(answered.resolve, 500);
      return { body: JSON.stringify({ ...PRESENCE, halted: [JOB.id] }) };
    });
    const worker = start(server);
    await answered.promise;
    await end(server, worker);
    expect(worker.output()).not.toContain("took it back");
  });

  it("does not say that a job was stopped whose progress comes after its report", async () => {
    const reported = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    const server = await giving([JOB], async ({ url = "" }) => {
      if (url.endsWith("/complete")) {
        reported.resolve();
        await answered.promise;
      }
      if (!url.endsWith("/heartbeat")) return undefined;
      await reported.promise;
      setTimeout(answered.resolve, 500);
      return { status: 409, body: JSON.stringify({ code: "lease_lost", detail: "it is over" }) };
    });
    const worker = startBeside(server, path.join(folder.path, "worker.py"), SLOW_WORKER);
    await answered.promise;
    await end(server, worker);
    expect(worker.output()).not.toContain("it is over");
  });
});

describe.skipIf(lacksPython)("a Python client", () => {
  const folder = folderForEachTest();

  const start = (server: Server, program: string): Program =>
    startBeside(server, path.join(folder.path, "client.py"), `from signalbox import Signalbox; ${program}`);

  it("goes on waiting for a job where the service was away meanwhile", async () => {
    let looks = 0;
    const server = createServer((request, response) => {
      if (request.method === "GET") looks += 1;
      if (looks === 1 || looks === 2) return response.destroy();
      if (looks === 3) return response.writeHead(503).end("<html>");
      return response.end(JSON.stringify({ id: "j1", status: looks === 0 ? "pending" : "completed", result: "ab" }));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const client = start(server, `print("got", Signalbox().run("hi")["result"])`);
    await eventually(() => expect(client.output()).toContain("got ab"));
    expect(looks).toBe(4);
    server.closeAllConnections();
    server.close();
  });

  it("asks again where something between answers for the service, and raises a Problem at last", async () => {
    const page = JSON.stringify({ jobs: [{ id: "j1" }] });
    const given: readonly Given[] = [{ body: "" }, { body: "[]" }, { body: page }, { body: "{}" }];
    let asked = 0;
    const server = await serving(() => {
      asked += 1;
      return given[asked - 1] ?? { body: "null" };
    });
    const client = start(
      server,
      `from signalbox import Problem
print("got", *[job["id"] for job in Signalbox().jobs()])
try: Signalbox().run("hi")
except Problem as problem: print("raised", problem.code)`,
    );
    await eventually(() => expect(client.output()).toContain("raised unexpected_answer"));
    expect(client.output()).toContain("got j1");
    server.closeAllConnections();
    server.close();
  });

  it("says where the service has gone", async () => {
    const server = await serving(() => ({ status: 301, body: "" }));
    const client = start(server, `Signalbox().run("hi")`);
    const words = "the address redirects to http://login.example/: use that address";
    await eventually(() => expect(client.output()).toContain(words));
    server.closeAllConnections();
    server.close();
  });

  it("goes on with a stream after the last event, also where the service is away for a moment", async () => {
    const chunk = (number: number, text: string) => `event: chunk\nid: 1.${number}\ndata: {"text":"${text}"}\n\n`;
    const job = { id: "j1", status: "completed", result: "ab", error: null };
    const asked: unknown[] = [];
    const server = createServer((request, response) => {
      if (request.url?.endsWith("/stream") !== true) return response.end(JSON.stringify(job));
      asked.push(request.headers["last-event-id"]);
      if (asked.length === 1) return response.write(chunk(1, "a"), () => response.destroy());
      if (asked.length === 2) return response.destroy();
      if (asked.length === 3) return response.writeHead(503).end("<html>");
      return response.end(`${chunk(2, "b")}event: end\ndata: {}\n\n`);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const client = start(server, `print("read", *Signalbox().stream("hi"))`);
    await eventually(() => expect(client.output()).toContain("read a b"));
    expect(asked).toEqual([undefined, "1.1", "1.1", "1.1"]);
    server.closeAllConnections();
    server.close();
  });
});
