// A server whose network only a proxy leads out of: what the service itself fetches goes by the operator's proxies, and
// what needs none by workerd's own network, which refuses what may not be reached.

import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { detoursIn } from "../../self-host/config/networks.ts";
import { openWayOut } from "../../self-host/way-out/open-way-out.ts";
import { serveWayOut } from "../../self-host/way-out/way-out.ts";
import { proxiesIn } from "../../worker/proxies.ts";
import { killChild } from "../support/child-processes.ts";
import { eventually } from "../support/eventually.ts";
import { send, succeed } from "../support/requests.ts";
import { startSelfHosted } from "../support/self-hosted.ts";
import { folderForEachTest } from "../support/temporary-folder.ts";

const folder = folderForEachTest();
const servers: Server[] = [];
const asked: string[] = [];
const ends: (() => unknown)[] = [];
let proxyUrl = "";

const note = async (at: string, incoming: IncomingMessage): Promise<void> => {
  const credentials = incoming.headers["proxy-authorization"] ?? "";
  asked.push(`${at} ${incoming.method} ${incoming.url} ${credentials} ${await text(incoming)}`);
};

/** Of plain requests it answers those for /slow with an answer that does not end. */
const newProxy = (): Server =>
  createServer(async (incoming, outgoing) => {
    await note("proxy", incoming);
    outgoing.on("close", () => outgoing.writableFinished || asked.push("left"));
    outgoing.writeHead(201, { "x-of": "proxy", "set-cookie": ["a=1", "b=2"] }).flushHeaders();
    if (!incoming.url?.endsWith("/slow")) outgoing.end("by proxy");
  }).on("connect", ({ url, headers }, socket) => {
    asked.push(`proxy CONNECT ${url} ${headers["proxy-authorization"]}`);
    socket.on("error", () => {});
    socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
  });

beforeEach(async () => {
  asked.length = 0;
  const proxy = newProxy().listen(0, "127.0.0.1");
  servers.push(proxy);
  await once(proxy, "listening");
  proxyUrl = `http://me:secret@127.0.0.1:${(proxy.address() as AddressInfo).port}`;
});

afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

const BASIC = `Basic ${Buffer.from("me:secret").toString("base64")}`;

/** As workerd asks: by the whole address, without `Host`. */
const ask = async (url: string, body?: string) => {
  const method = body === undefined ? "GET" : "POST";
  const sent = request({ socketPath: detoursIn(folder.path).internet.asked, path: url, method, setHost: false });
  sent.end(body);
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  return { sent, answer };
};

const open = async (env: Readonly<Record<string, string>> = { HTTP_PROXY: proxyUrl }) => {
  const detours = detoursIn(folder.path);
  const network = createServer(async (incoming, outgoing) => {
    await note("network", incoming);
    if (incoming.url?.endsWith("/denied")) {
      // As workerd answers where it may not go.
      outgoing.sendDate = false;
      outgoing.writeHead(500).end("Internal Server Error");
    } else outgoing.end("directly");
  });
  servers.push(network);
  await once(network.listen(detours.internet.direct), "listening");
  const proxies = proxiesIn({ HTTPS_PROXY: proxyUrl, NO_PROXY: "near.test", ...env });
  if (proxies !== null) ends.push(await serveWayOut(proxies, detours));
};

it("a request goes by the proxy, with its answer as it is, or by the network where it needs none", async () => {
  await open();
  const { answer } = await ask("http://far.test:8080/a?b=c", "body");
  expect([answer.statusCode, answer.headers["x-of"], answer.headers["set-cookie"]]).toEqual([
    201,
    "proxy",
    ["a=1", "b=2"],
  ]);
  expect(await text(answer)).toBe("by proxy");
  expect(await text((await ask("https://near.test/x")).answer)).toBe("directly");
  expect(asked).toEqual([`proxy POST http://far.test:8080/a?b=c ${BASIC} body`, "network GET https://near.test/x  "]);
});

it("without HTTP_PROXY a request without TLS goes by the network, which refuses what may not be reached", async () => {
  await open({});
  expect(await text((await ask("http://far.test/x")).answer)).toBe("directly");
  expect(asked).toEqual(["network GET http://far.test/x  "]);
});

it("one that cannot be sent has no answer, and one that is left is ended", async () => {
  await open();
  await expect(ask("https://far.test/")).rejects.toThrow("socket hang up");
  await expect(ask("http://near.test/denied")).rejects.toThrow("socket hang up");
  const { sent, answer } = await ask("http://far.test/slow");
  answer.on("error", () => {});
  sent.destroy();
  await eventually(() => expect(asked.at(-1)).toBe("left"));
  expect(asked[0]).toBe(`proxy CONNECT far.test:443 ${BASIC}`);
});

it.each(["node", "workerd"])(
  "a webhook goes by the proxies of the server's environment, also once its process was killed (edge in %s)",
  async (edge) => {
    const env = { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl, NO_PROXY: "", SERVICE_WEBHOOKS_PRIVATE: "1" };
    const server = await startSelfHosted(folder.path, { args: ["--no-worker", "--edge", edge], env });
    ends.push(server.kill);
    const admin = { url: server.url, key: server.adminKey };
    const ids: string[] = [];
    for (const url of ["http://far.test:8080/hook", "https://far.test/hook"])
      ids.push((await succeed(admin, "POST", "/api/webhooks", { url, events: ["job.completed"] })).id);
    const test = async (): Promise<void> => {
      asked.length = 0;
      for (const id of ids) await succeed(admin, "POST", `/api/webhooks/${id}/test`);
      await eventually(() => {
        expect(asked).toContainEqual(
          expect.stringMatching(/^proxy POST http:\/\/far\.test:8080\/hook Basic .*webhook\.test/),
        );
        expect(asked).toContain(`proxy CONNECT far.test:443 ${BASIC}`);
      });
    };
    await test();
    expect(killChild(folder.path, "serving")).toBe(true);
    const isBack = () =>
      send(admin, "GET", "/api/webhooks").then(
        ({ status }) => status === 200,
        () => false,
      );
    await expect.poll(isBack, { timeout: 20_000 }).toBe(true);
    await test();
  },
  60_000,
);

it("is said to be unused where there are no sockets for it, as on Windows", async () => {
  const warned = vi.spyOn(console, "warn").mockImplementation(() => {});
  const proxies = proxiesIn({ HTTPS_PROXY: "http://proxy.test:3128" });
  expect((await openWayOut(proxies, null)).detours).toBeNull();
  expect(warned.mock.calls.join()).toContain("way_out.unused");
  warned.mockClear();
  expect((await openWayOut(null, null)).detours).toBeNull();
  expect(warned).not.toHaveBeenCalled();
  warned.mockRestore();
});
