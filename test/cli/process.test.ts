// The command as a process: how it ends when it is interrupted, when the machine refuses, and when the service goes away.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import { VERSION } from "../../contract/words/version.ts";
import { SIGNALBOX } from "../support/command-line.ts";
import { eventually } from "../support/eventually.ts";
import { folderForAllTests } from "../support/temporary-folder.ts";

const TIMEOUT_MS = 30_000;

const folder = folderForAllTests();
const children: ChildProcess[] = [];
const servers: Server[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  for (const server of servers.splice(0)) server.closeAllConnections();
});

const serve = async (answer: RequestListener): Promise<string> => {
  const server = createServer(answer).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const start = (args: readonly string[], env: Record<string, string> = {}) => {
  const child = spawn(process.execPath, [SIGNALBOX, ...args], {
    env: { PATH: process.env.PATH, HOME: "/nowhere", SERVICE_API_KEY: "sb_1", ...env },
  });
  children.push(child);
  const said = { err: "" };
  child.stderr.on("data", (chunk) => {
    said.err += chunk;
  });
  return { child, said, ended: once(child, "close").then(([code]) => code as number | null) };
};

it.each([[["run", "-"]], [["run", "hi", "--input", "-"]], [["config", "set", "-"]]])(
  "%j ends with 130 when it is interrupted while it reads stdin",
  async (args) => {
    const url = await serve((_request, response) => response.end("{}"));
    const { child, ended } = start(args, { SERVICE_API_URL: url });
    // More than a pipe holds: it has been written once the command reads.
    await new Promise((read) => child.stdin.write("x".repeat(1 << 20), read));
    child.kill("SIGINT");
    expect(await ended).toBe(130);
  },
  TIMEOUT_MS,
);

it.each([["cost"], ["status"]])(
  "%s says in a line that the answer is not what it expects",
  async (verb) => {
    const url = await serve((_request, response) =>
      response.setHeader("content-type", "application/json").end('{"hello":"world"}'),
    );
    const { said, ended } = start([verb], { SERVICE_API_URL: url });
    expect(await ended).toBe(1);
    expect(said.err).toMatch(/another form than this command expects/);
    expect(said.err).not.toContain("    at ");
  },
  TIMEOUT_MS,
);

it(
  "a fault of the command's own comes with its stack, not as the answer of another service",
  async () => {
    // To this command a service of its own version answers as it expects.
    const url = await serve(({ url: asked }, response) =>
      response
        .setHeader("content-type", "application/json")
        .end(asked === "/health" ? JSON.stringify({ status: "ok", version: VERSION }) : '{"hello":"world"}'),
    );
    const { said, ended } = start(["cost"], { SERVICE_API_URL: url });
    expect(await ended).toBe(1);
    expect(said.err).toMatch(/TypeError: .*\n +at /);
    expect(said.err).not.toContain("another form");
  },
  TIMEOUT_MS,
);

it(
  "what was typed wrong, and https where there is none, is said in words for it",
  async () => {
    const url = await serve((_request, response) => response.end());
    const missing = start(["run"], { SERVICE_API_URL: url });
    expect([await missing.ended, missing.said.err]).toEqual([
      2,
      "<prompt> is missing\nsignalbox run --help shows what it takes.\n",
    ]);
    const secured = url.replace("http:", "https:");
    const secure = start(["cost"], { SERVICE_API_URL: secured });
    expect([await secure.ended, secure.said.err]).toEqual([1, expect.stringContaining("https: write http://")]);
    const byProxy = start(["cost"], { SERVICE_API_URL: "http://coordinator.test", HTTP_PROXY: secured });
    expect([await byProxy.ended, byProxy.said.err]).toEqual([1, expect.not.stringContaining("https: write")]);
  },
  TIMEOUT_MS,
);

it(
  "a login that cannot be saved says so, in a line",
  async () => {
    const session = JSON.stringify({ role: "admin", tenant: "t", name: "k" });
    const url = await serve((_request, response) =>
      response.setHeader("content-type", "application/json").end(session),
    );
    const { said, ended } = start(["login", url], { XDG_CONFIG_HOME: SIGNALBOX });
    expect(await ended).toBe(1);
    expect(said.err).toMatch(/cannot be written: /);
    expect(said.err).not.toContain("    at ");
  },
  TIMEOUT_MS,
);

it.each(["{", '{"url": "localhost:8787", "key": "sb_1"}'])(
  "a kept login that is %s is named as damaged, with the command that mends it",
  async (kept) => {
    mkdirSync(path.join(folder.path, "signalbox"), { recursive: true });
    writeFileSync(path.join(folder.path, "signalbox", "config.json"), kept);
    const env = { XDG_CONFIG_HOME: folder.path, SERVICE_API_KEY: "" };
    const { said, ended } = start(["queue"], env);
    expect(await ended).toBe(1);
    expect(said.err).toMatch(/^\S+config\.json is damaged: run `signalbox login <url>` again\.\n$/);
    const session = JSON.stringify({ role: "admin", tenant: "t", name: "k" });
    const url = await serve((_request, response) =>
      response.setHeader("content-type", "application/json").end(session),
    );
    expect(await start(["login", url], { ...env, SERVICE_API_KEY: "sb_1" }).ended).toBe(0);
  },
  TIMEOUT_MS,
);

it(
  "a login by the browser goes on after a stray request, and ends at once when it is interrupted",
  async () => {
    const offer = JSON.stringify({ keys: true, oidc: { name: "Acme" }, jwt_header: false });
    const url = await serve((_request, response) => response.setHeader("content-type", "application/json").end(offer));
    const { child, said, ended } = start(["login", url, "--no-browser"], { SERVICE_API_KEY: "" });
    await eventually(() => expect(said.err).toContain("#/grant-key?port="));
    const stray = connect(Number(/port=(\d+)/.exec(said.err)?.[1]), "127.0.0.1");
    stray.write("GET // HTTP/1.1\r\nHost: here\r\n\r\n");
    expect(await text(stray)).toContain("400 Bad Request");
    child.kill("SIGINT");
    expect(await ended).toBe(130);
  },
  TIMEOUT_MS / 3,
);

it.each([[["run", "hi", "--input", "none.txt"]], [["config", "set", "none.txt"]]])(
  "%j names the file that is not there, in a line",
  async (args) => {
    const { said, ended } = start(args);
    expect(await ended).toBe(1);
    expect(said.err).toBe("none.txt cannot be read: there is no such file\n");
  },
  TIMEOUT_MS,
);

it.each([
  ["123", "123"],
  ["null", "null"],
  ["[1, 2]\n", "[1, 2]\n"],
  ["{bad", "{bad"],
  ['"said"', "said"],
  ['{"seed": 1}', { seed: 1 }],
])(
  "run --input takes a file that says %j",
  async (content, input) => {
    const file = path.join(folder.path, "input");
    writeFileSync(file, content);
    let body = "";
    const url = await serve(async (request, response) => {
      body = await text(request);
      response.setHeader("content-type", "application/json").end('{"id": "j1"}');
    });
    const { ended } = start(["run", "hi", "--input", file], { SERVICE_API_URL: url });
    expect(await ended).toBe(0);
    expect(JSON.parse(body)).toEqual({ prompt: "hi", input });
  },
  TIMEOUT_MS,
);

it.each([
  ["{bad", "it is not JSON"],
  ['{"promt": "hi"}', 'prompt: is required; promt: unknown field "promt"; did you mean'],
])(
  "worker --once %s says what it takes",
  async (job, says) => {
    const { said, ended } = start(["worker", "--exec", "cat", "--once", job]);
    expect(await ended).toBe(2);
    expect(said.err).toContain(`--once takes a job as JSON, such as '{"prompt": "hi"}': ${says}`);
  },
  TIMEOUT_MS,
);

/** A worker below `sh -c`, as npm starts it for this event; once it serves. The shell's first word is a process id. */
const startBelowShell = async (event: string, command: string, argument = "") => {
  const url = await serve((_request, response) => response.writeHead(503).end());
  const shell = spawn("sh", ["-c", command, process.execPath, SIGNALBOX, argument], {
    env: { PATH: process.env.PATH, SERVICE_API_URL: url, SERVICE_API_KEY: "sb_1", npm_lifecycle_event: event },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  for (const stream of [shell.stdout, shell.stderr]) stream.on("data", (chunk) => (out += chunk));
  await eventually(() => expect(out).toContain("serves echo"));
  const isOver = once(shell, "close").then(() => true);
  /** Whether all of it ended within the time; what is left is killed. */
  const endsWithin = async (ms: number): Promise<boolean> => {
    const ended = await Promise.race([isOver, pause(ms, false)]);
    if (!ended) process.kill(Number.parseInt(out, 10), "SIGKILL");
    return ended;
  };
  return { shell, isOver, endsWithin, hasSaidWhy: () => out.includes("npx has ended") };
};

it(
  "a worker that npx started ends as npx does, whose shell passes no signal on",
  async () => {
    const said = async (event: string) => {
      // With a second command the shell stays, as npm's does.
      const command = '"$0" "$1" worker --runtime echo & echo $! && wait';
      const { shell, endsWithin, hasSaidWhy } = await startBelowShell(event, command);
      shell.kill("SIGTERM");
      return [await endsWithin(event === "npx" ? 20_000 : 4_000), hasSaidWhy()];
    };
    expect(await said("npx")).toEqual([true, true]);
    // Anywhere else a worker may outlive the shell that started it.
    expect(await said("start")).toEqual([false, false]);
  },
  TIMEOUT_MS,
);

it.skipIf(process.platform !== "linux")(
  "a worker ends where the npx that started it is killed, and its shell is not",
  async () => {
    const inner = '"$0" "$1" worker --runtime echo & echo $! && wait';
    const npx = await startBelowShell("npx", 'sh -c "$2" "$0" "$1" & wait', inner);
    npx.shell.kill("SIGKILL");
    expect([await npx.endsWithin(6_000), npx.hasSaidWhy()]).toEqual([true, true]);
  },
  TIMEOUT_MS,
);

it.skipIf(process.platform !== "linux")(
  "a worker goes on where what started npx has ended, and npx has no shell between",
  async () => {
    const npx = `process.title = "npm exec signalbox";
      const { spawn } = require("node:child_process");
      const worker = spawn(process.execPath, [process.argv[1], "worker", "--runtime", "echo"], { stdio: "inherit" });
      console.log(process.pid);
      worker.on("close", () => process.exit());`;
    const script = await startBelowShell("npx", '"$0" -e "$2" "$1" & wait', npx);
    script.shell.kill("SIGKILL");
    const endedAlone = await script.endsWithin(3_000);
    await script.isOver;
    expect([endedAlone, script.hasSaidWhy()]).toEqual([false, true]);
  },
  TIMEOUT_MS,
);

it(
  "worker --once writes its whole report into a pipe that is read late",
  async () => {
    const bytes = 1 << 20;
    const command = `${process.execPath} -e 'process.stdout.write("x".repeat(${bytes}))'`;
    const { child } = start(["worker", "--exec", command, "--once", '{"prompt": "hi"}']);
    await once(child.stdout, "readable");
    await pause(500);
    const report = JSON.parse(await text(child.stdout)) as { result: string };
    expect(report.result).toHaveLength(bytes);
  },
  TIMEOUT_MS,
);

it(
  "a worker's wrong flag is wrong usage, with what is wrong at the end, and where the flags are listed",
  async () => {
    const { said, ended } = start(["worker", "--concurency", "2"]);
    expect(await ended).toBe(2);
    expect(said.err).toMatch(/^worker: there is no flag [\s\S]*\nsignalbox worker --help lists the flags\.\n$/);
  },
  TIMEOUT_MS,
);

it.each([
  [
    "an address without http://",
    "localhost:8787",
    'SERVICE_API_URL "localhost:8787" is not an address: it must start with',
  ],
  ["another service's address", "", "Another service answers there"],
])(
  "%s is named as what is wrong",
  async (_what, given, says) => {
    const other = await serve((_request, response) => response.writeHead(404).end("404 page not found"));
    const { said, ended } = start(["queue"], { SERVICE_API_URL: given || other });
    expect(await ended).toBe(1);
    expect(said.err).toContain(says);
  },
  TIMEOUT_MS,
);

it.each([
  ["another service's page", "text/html", "<html>", "was answered with text/html, not application/yaml"],
  ["half of an answer", "application/yaml", null, "No answer from Signalbox at"],
])(
  "config get does not pass off %s as the config",
  async (_what, type, page, says) => {
    const url = await serve((_request, response) => {
      response.writeHead(200, { "content-type": type });
      if (page !== null) response.end(page);
      else response.write("jobs:", () => response.destroy());
    });
    const { child, said, ended } = start(["config", "get"], { SERVICE_API_URL: url });
    expect([await text(child.stdout), await ended]).toEqual(["", 1]);
    expect(said.err).toContain(says);
    expect(said.err).not.toContain("    at ");
  },
  TIMEOUT_MS,
);

it.each(["null", "[]", '{"name": "another service"}'])(
  "doctor names the address of a service that answers everything with %s",
  async (answer) => {
    const url = await serve((_request, response) => response.setHeader("content-type", "application/json").end(answer));
    const { child, said, ended } = start(["doctor"], { SERVICE_API_URL: url });
    const says = `address\tWRONG\t${url} is not Signalbox's address: `;
    expect([(await text(child.stdout)).indexOf(says), said.err, await ended]).toEqual([0, "", 1]);
  },
  TIMEOUT_MS,
);

it.each(["--wait", "--stream"])(
  "run %s waits for a service that goes away, and leaves the id of the job where it is ended",
  async (flag) => {
    const url = await serve((request, response) => {
      if (request.method !== "POST") return void response.destroy();
      response.setHeader("content-type", "application/json").end(JSON.stringify({ id: "j-1", status: "pending" }));
    });
    const { child, said, ended } = start(["run", "hi", flag], { SERVICE_API_URL: url });
    await eventually(() => expect(said.err).toContain("No answer from Signalbox"));
    child.kill("SIGINT");
    expect(await ended).toBe(130);
    expect(said.err).toContain("The job continues: signalbox jobs get j-1");
  },
  TIMEOUT_MS,
);

it(
  "an interrupted doctor has said what it waits for, and cancels its job",
  async () => {
    const asked: string[] = [];
    const url = await serve((request, response) => {
      asked.push(`${request.method} ${request.url?.split("?")[0]}`);
      if (request.url?.includes("wait=")) return;
      const answer = {
        id: "j-1",
        status: "pending",
        active: false,
        version: "0",
        workers: [],
        notes: [],
        selected: null,
      };
      response.setHeader("content-type", "application/json").end(JSON.stringify(answer));
    });
    const { child, said, ended } = start(["doctor", "--run"], { SERVICE_API_URL: url });
    await eventually(() => expect(asked).toContain("GET /api/jobs/j-1"));
    child.kill("SIGINT");
    expect(await ended).toBe(130);
    expect(said.err).toContain("Waits for job j-1, a minute at most.");
    expect(asked).toContain("POST /api/jobs/j-1/cancel");
  },
  TIMEOUT_MS,
);

it(
  "a command is done although nobody reads its stderr any more",
  async () => {
    let answer = (): void => undefined;
    const url = await serve((_request, response) => {
      answer = () => response.writeHead(204).end();
    });
    const { child, ended } = start(["files", "delete", "file_1"], { SERVICE_API_URL: url });
    await once(servers[0] as Server, "request");
    child.stderr.destroy();
    answer();
    expect(await ended).toBe(0);
  },
  TIMEOUT_MS,
);
