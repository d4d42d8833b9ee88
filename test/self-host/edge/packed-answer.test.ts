// What a browser reads is compressed; what a program reads, and what somebody stored, is as it was.

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { MIB } from "../../../domain/words/size.ts";
import { closeServer, edgeServer } from "../../../self-host/edge/http-server.ts";
import { packedForBrowser } from "../../../self-host/edge/packed-answer.ts";
import type { Exchange } from "../../../self-host/edge/pass-on.ts";
import { completeResponse } from "../../../src/http/headers.ts";

const BROWSER = { cookie: "signalbox=1", "accept-encoding": "gzip, deflate, br" };
const LIST = JSON.stringify({ workers: Array.from({ length: 200 }, (_, at) => ({ instance: `box-${at}` })) });

const JSON_TYPE = { "content-type": "application/json" };

const listed = (told: Record<string, string> = {}): Response =>
  completeResponse(LIST, 200, "an id", { ...JSON_TYPE, ...told });

const packedTo = (headers: Record<string, string>, answer: Response, method = "GET"): Promise<Response> =>
  Promise.resolve(packedForBrowser(answer, { incoming: { method, headers } } as unknown as Exchange));

const answerTo = (headers: Record<string, string>, told?: Record<string, string>, method?: string): Promise<Response> =>
  packedTo(headers, listed(told), method);

describe("an answer", () => {
  it("to a browser is compressed, and says so", async () => {
    const answer = await answerTo(BROWSER, { vary: "origin", "content-length": `${LIST.length}` });
    expect(answer.headers.get("content-encoding")).toBe("gzip");
    expect(answer.headers.get("vary")).toBe("origin, accept-encoding");
    expect(answer.headers.has("content-length")).toBe(false);
    const bytes = Buffer.from(await answer.arrayBuffer());
    expect(bytes.length).toBeLessThan(LIST.length / 4);
    expect(gunzipSync(bytes).toString()).toBe(LIST);
  });

  it("to a program, or to a browser that takes it as it is, is not", async () => {
    const { cookie } = BROWSER;
    for (const headers of [{ ...BROWSER, authorization: "Bearer k" }, { "accept-encoding": "gzip" }, { cookie }]) {
      const answer = await answerTo(headers);
      expect(answer.headers.has("content-encoding")).toBe(false);
      expect(await answer.text()).toBe(LIST);
    }
    expect((await answerTo(BROWSER, {}, "POST")).headers.has("content-encoding")).toBe(false);
  });

  it("that is a file, a version with a tag, a stream of events, or nothing stays as it is", async () => {
    for (const told of [
      { "content-disposition": "attachment" },
      { etag: '"7"' },
      { "content-type": "text/event-stream" },
    ]) {
      const answer = await answerTo(BROWSER, told);
      expect(answer.headers.has("content-encoding")).toBe(false);
      expect(await answer.text()).toBe(LIST);
    }
    expect((await packedTo(BROWSER, new Response(null, { status: 204 }))).status).toBe(204);
  });

  it("that comes as a stream, such as a stored answer of 64 MiB, stays one", async () => {
    const { readable } = new TransformStream();
    const answer = new Response(readable, { headers: JSON_TYPE });
    expect(await packedTo(BROWSER, answer)).toBe(answer);
  });

  it("of many at once goes as it is where others are being compressed", async () => {
    const answers = await Promise.all(Array.from({ length: 100 }, () => answerTo(BROWSER)));
    const packed = answers.filter(({ headers }) => headers.has("content-encoding"));
    expect(packed.length).toBeGreaterThan(0);
    expect(packed.length).toBeLessThan(50);
    expect((await answerTo(BROWSER)).headers.get("content-encoding")).toBe("gzip");
  });

  it("whose client does not read counts with what is left of it", async () => {
    const text = JSON.stringify(randomBytes(16 * MIB).toString("base64"));
    const server = edgeServer(
      (_, exchange) => packedForBrowser(completeResponse(text, 200, "an id", JSON_TYPE), exchange),
      9,
    );
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const client = connect((server.address() as AddressInfo).port, "127.0.0.1").pause();
    const [served] = (await once(server, "connection")) as [Socket];
    client.write("GET / HTTP/1.1\r\nHost: x\r\nCookie: a=b\r\nAccept-Encoding: gzip\r\n\r\n");
    // Of a stream no more is in the process than what it passes on at a time.
    await expect.poll(() => served.writableLength).toBeGreaterThan(MIB);
    client.destroy();
    await closeServer(server, 0);
  });
});
