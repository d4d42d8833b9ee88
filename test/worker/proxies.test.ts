// A worker and a command on a machine that reaches others by a proxy alone.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { SIGNALBOX } from "../support/command-line.ts";
import { FakeCoordinator, KEY } from "./fake-coordinator.ts";
import { assignedJob } from "./job-fixture.ts";

let coordinator: FakeCoordinator;
const children: ChildProcess[] = [];

/** Passes plain requests on to the coordinator, whatever host they name, and refuses all else. */
const proxy = createServer((incoming, outgoing) => {
  asked.push(`${incoming.method} ${incoming.url}`);
  const { method, headers, url = "" } = incoming;
  const { pathname, search } = new URL(url);
  const onward = request(coordinator.url + pathname + search, { method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
    answer.pipe(outgoing);
  });
  onward.on("error", () => outgoing.destroy());
  incoming.pipe(onward);
});
proxy.on("connect", ({ url, headers }, socket) => {
  asked.push(`CONNECT ${url} ${headers["proxy-authorization"]}`);
  socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
});
const asked: string[] = [];
let proxyUrl = "";

beforeEach(async () => {
  asked.length = 0;
  coordinator = new FakeCoordinator();
  await coordinator.start();
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  proxyUrl = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  proxy.closeAllConnections();
  proxy.close();
  await coordinator.stop();
});

const command = (args: readonly string[], env: Readonly<Record<string, string>>) => {
  const settings = { PATH: process.env.PATH ?? "", SERVICE_API_KEY: KEY, ...env };
  const child = spawn(process.execPath, [SIGNALBOX, ...args], { env: settings });
  children.push(child);
  let said = "";
  for (const output of [child.stdout, child.stderr])
    output.on("data", (chunk) => {
      said += chunk;
    });
  const ended = once(child, "close").then(([code]) => ({ code, said }));
  return { said: () => said, ended };
};

const ECHO = ["worker", "--runtime", "echo", "--instance", "w1"];

it("does its jobs by a proxy that passes on plain HTTP alone", async () => {
  command(ECHO, { SERVICE_API_URL: "http://coordinator.test:8787", http_proxy: proxyUrl });
  expect(await coordinator.waitFor("presence")).toMatchObject({ instance: "w1" });
  expect(asked).toContain("GET http://coordinator.test:8787/health");
  coordinator.assign(assignedJob({ id: "a" }));
  expect(await coordinator.waitFor("job.completed")).toMatchObject({ job_id: "a" });
});

it.each([
  ["me:secret", "me:secret"],
  ["me", "me:"],
])(
  "asks the proxy as %s for each connection over TLS, also of its socket, and says why there is none",
  async (...who) => {
    const [named, told] = who;
    const env = { SERVICE_API_URL: "https://coordinator.test", HTTPS_PROXY: `http://${named}@${proxyUrl}` };
    const { said } = command(ECHO, env);
    await expect.poll(said, { timeout: 20_000 }).toContain("Proxy response (403)");
    const basic = Buffer.from(told).toString("base64");
    const toCoordinator = asked.filter((line) => line === `CONNECT coordinator.test:443 Basic ${basic}`);
    // The socket, and the question what is at the address: the version, the config and the look after the socket.
    expect(toCoordinator.length).toBeGreaterThanOrEqual(3);
    expect(said()).not.toContain("secret");
  },
);

it("goes to its own machine, and where NO_PROXY says so, without the proxy", async () => {
  command(ECHO, { SERVICE_API_URL: coordinator.url, HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl });
  await coordinator.waitFor("presence");
  for (const NO_PROXY of ["other.test,.coordinator.test", "*"]) {
    const url = { SERVICE_API_URL: "http://coordinator.test:8787" };
    const { ended } = command(["status"], { ...url, HTTP_PROXY: proxyUrl, NO_PROXY });
    expect(await ended).toMatchObject({ code: 1, said: expect.stringContaining("ENOTFOUND") });
  }
  for (const host of ["127.8.9.1", "0.0.0.0", "[::]"]) {
    const { ended } = command(["status"], { SERVICE_API_URL: `http://${host}:10099`, HTTP_PROXY: proxyUrl });
    expect(await ended).toMatchObject({ code: 1, said: expect.stringContaining("cannot be reached") });
  }
  expect(asked).toEqual([]);
});

it.each(["socks5://127.0.0.1:1080", "http://", "ftp://me:secret@proxy", "http://me:secret%@proxy"])(
  "says which setting is no proxy's address, and not what it is (%s)",
  async (HTTPS_PROXY) => {
    const env = { SERVICE_API_URL: "https://coordinator.test", HTTPS_PROXY };
    for (const args of [["status"], ECHO])
      expect(await command(args, env).ended).toEqual({
        code: 1,
        said: "HTTPS_PROXY is not the address of an HTTP proxy: use http://host:port, with a % of its password as %25, or unset it.\n",
      });
  },
);
