// What a browser reads is compressed; what a program reads, and what somebody stored, is as it was.

import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { packedForBrowser } from "../../../self-host/edge/packed-answer.ts";
import type { Exchange } from "../../../self-host/edge/pass-on.ts";

const BROWSER = { cookie: "signalbox=1", "accept-encoding": "gzip, deflate, br" };
const LIST = JSON.stringify({ workers: Array.from({ length: 200 }, (_, at) => ({ instance: `box-${at}` })) });

const answerTo = (
  headers: Record<string, string>,
  told: Record<string, string> = {},
  method = "GET",
): Promise<Response> =>
  Promise.resolve(
    packedForBrowser(new Response(LIST, { headers: { "content-type": "application/json", ...told } }), {
      incoming: { method, headers },
    } as unknown as Exchange),
  );

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
    const nothing = packedForBrowser(new Response(null, { status: 204 }), {
      incoming: { method: "GET", headers: BROWSER },
    } as unknown as Exchange);
    expect((await nothing).status).toBe(204);
  });
});
