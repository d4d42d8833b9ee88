// The SDK in Node against a server: by Node's own HTTP client and by `fetch` it does the same.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { afterEach, describe, expect, it, vi } from "vitest";
import { nodeFetch } from "../../sdk/node-fetch.ts";
import { Signalbox, type SignalboxOptions } from "../../sdk/signalbox.ts";

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanUp of cleanups.splice(0)) cleanUp();
});

const ROUND_TRIPS = 3;
const PROBLEM = { status: 409, title: "Conflict", code: "job_completed", detail: "the job has completed" };

/** A client of a server that answers so. */
const clientOf = async (
  answer: (outgoing: ServerResponse, incoming: IncomingMessage) => void,
  options: SignalboxOptions = {},
) => {
  const requests: IncomingMessage[] = [];
  const server = createServer((incoming, outgoing) => {
    requests.push(incoming);
    incoming.resume().on("end", () => answer(outgoing, incoming));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = (): void => {
    server.closeAllConnections();
    server.close();
  };
  cleanups.push(stop);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { client: new Signalbox({ url, key: "sb_1", retries: 0, ...options }), requests, stop, url };
};

const sayJson = (outgoing: ServerResponse, value: unknown, status = 200): void => {
  outgoing.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
};

/** Only `fetch` says this of its requests. */
const isByFetch = ({ headers }: IncomingMessage): boolean => "sec-fetch-mode" in headers;

describe.each([
  ["Node's own client", {}, false],
  ["fetch", { fetch: (input: unknown, init: unknown) => fetch(input as never, init as never) }, true],
])("by %s", (_, options, byFetch) => {
  it("reads an answer, of any length and in any language", async () => {
    const result = "Füße ☀️ ".repeat(50_000);
    const { client, requests } = await clientOf((outgoing) => sayJson(outgoing, { id: "j1", result }), options);
    expect(await client.jobs.get("j1")).toEqual({ id: "j1", result });
    expect(requests.map(isByFetch)).toEqual([byFetch]);
    expect(requests[0]?.headers.authorization).toBe("Bearer sb_1");
  });

  it("sends a body with its length, and the same key with a repeat", async () => {
    const { client, requests } = await clientOf(
      (outgoing) => sayJson(outgoing, { id: "j1" }, requests.length === 1 ? 503 : 201),
      { ...options, retries: 1 },
    );
    await client.jobs.create({ prompt: "grüß" });
    const [first, second] = requests;
    expect(first).toMatchObject({ method: "POST", url: "/api/jobs", headers: { "content-length": "19" } });
    expect(second?.headers["idempotency-key"]).toBe(first?.headers["idempotency-key"]);
  });

  it("throws a refusal as the service words it", async () => {
    const { client } = await clientOf((outgoing) => sayJson(outgoing, PROBLEM, 409), options);
    await expect(client.jobs.edit("j1", { tags: [] })).rejects.toMatchObject({
      status: 409,
      code: "job_completed",
      message: "the job has completed",
    });
  });

  it("follows no redirect", async () => {
    const away = (outgoing: ServerResponse) => void outgoing.writeHead(302, { location: "http://else" }).end();
    const { client, requests } = await clientOf(away, options);
    await expect(client.jobs.get("j1")).rejects.toMatchObject({ code: "redirected" });
    expect(requests.length).toBe(1);
  });

  it("says that there is no answer, and why", async () => {
    const { client, stop } = await clientOf((outgoing) => sayJson(outgoing, {}), options);
    stop();
    await expect(client.jobs.get("j1")).rejects.toMatchObject({
      code: "unreachable",
      message: expect.stringContaining("(connect ECONNREFUSED"),
    });
  });

  it("takes an answer that breaks off for none", async () => {
    const cut = (outgoing: ServerResponse, { socket }: IncomingMessage) =>
      void outgoing
        .writeHead(200, { "content-type": "application/json", "content-length": "100" })
        .write("{", () => socket.destroy());
    const { client } = await clientOf(cut, options);
    await expect(client.jobs.get("j1")).rejects.toMatchObject({ code: "unreachable" });
  });

  it("gives up after its time", async () => {
    const { client } = await clientOf(() => undefined, { ...options, timeoutMs: 20 });
    await expect(client.jobs.get("j1")).rejects.toMatchObject({ code: "timeout" });
  });

  it.each(["before the answer", "within it"])(
    "ends when its caller leaves %s, and so does the request",
    async (when) => {
      const leave = new AbortController();
      const left = Promise.withResolvers<void>();
      const { client } = await clientOf((outgoing) => {
        outgoing.on("close", () => left.resolve());
        if (when === "within it") outgoing.writeHead(200).write("{");
        leave.abort();
      }, options);
      await expect(client.jobs.get("j1", { signal: leave.signal })).rejects.toMatchObject({ name: "AbortError" });
      await left.promise;
    },
  );
});

describe("Node's own client", () => {
  const asked = { method: "GET", headers: new Headers() };

  it("gives up where nothing more comes, as fetch does after five minutes", async () => {
    const { url } = await clientOf((outgoing) => void outgoing.writeHead(200).write("{"));
    const answer = await nodeFetch(url, { idleMs: 20 })?.(url, asked);
    await expect(answer?.text()).rejects.toThrow();
  });

  it("leaves an answer without an end, before it is longer than a text may be", async () => {
    const left = Promise.withResolvers<void>();
    const { url } = await clientOf((outgoing) => {
      const endless = new Readable({ read: () => void endless.push("x".repeat(1_000)) });
      endless.pipe(outgoing.writeHead(200)).on("close", left.resolve);
    });
    const answer = await nodeFetch(url, { answerChars: 100_000 })?.(url, asked);
    await expect(answer?.text()).rejects.toThrow("the answer is too long");
    await left.promise;
  });

  it("takes what closes without an answer for none", async () => {
    const { client } = await clientOf((_, { socket }) => {
      socket.end("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n");
    });
    await expect(client.jobs.get("j1")).rejects.toMatchObject({ code: "unreachable" });
  });
});

it("Node's own client keeps its connection", async () => {
  const { client, requests } = await clientOf((outgoing) => sayJson(outgoing, { id: "j1" }));
  for (let trip = 0; trip < ROUND_TRIPS; trip += 1) await client.jobs.get("j1");
  expect(new Set(requests.map(({ socket }) => socket)).size).toBe(1);
});

it("what is read while it comes goes by fetch", async () => {
  const { client, requests } = await clientOf((outgoing) => void outgoing.end("bytes"));
  expect(await (await client.files.content("f1")).text()).toBe("bytes");
  expect(requests.map(isByFetch)).toEqual([true]);
});

it("a program's own fetch is used, and who it has chosen to send requests", async () => {
  const { client, requests } = await clientOf((outgoing) => sayJson(outgoing, { id: "j1" }));
  const own = vi.fn(fetch);
  vi.stubGlobal("fetch", own);
  cleanups.push(() => vi.unstubAllGlobals());
  await client.jobs.get("j1");
  expect(own).toHaveBeenCalledTimes(1);
  vi.unstubAllGlobals();
  const { EnvHttpProxyAgent, getGlobalDispatcher, setGlobalDispatcher } = await import("undici");
  const before = getGlobalDispatcher();
  cleanups.push(() => setGlobalDispatcher(before));
  setGlobalDispatcher(new EnvHttpProxyAgent());
  await client.jobs.get("j1");
  expect(requests.map(isByFetch)).toEqual([true, true]);
});

it("what Node 26 keeps for older versions of undici is no choice of the program", async () => {
  const { client, requests } = await clientOf((outgoing) => sayJson(outgoing, { id: "j1" }));
  const { Agent, getGlobalDispatcher, setGlobalDispatcher } = await import("undici");
  const before = getGlobalDispatcher();
  cleanups.push(() => setGlobalDispatcher(before));
  setGlobalDispatcher(new Agent());
  class Dispatcher1Wrapper {}
  Object.assign(globalThis, { [Symbol.for("undici.globalDispatcher.1")]: new Dispatcher1Wrapper() });
  await client.jobs.get("j1");
  expect(requests.map(isByFetch)).toEqual([false]);
});
