import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { HttpLine } from "../../../worker/session/http-line.ts";
import type { Ending } from "../../../worker/session/session.ts";

test("an answer that begins and stops halfway ends the session, so that a new one reports the worker alive", async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).write('{"jobs":');
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const endings: Ending[] = [];
  const settings = { apiUrl, apiKey: "sb_1", instance: "w1", wholeAnswerWithinMs: 200 };
  const line = new HttpLine(settings, (ending) => endings.push(ending));
  try {
    expect(await line.ask(({ workers }, options) => workers.claim("w1", { max: 1 }, options))).toBeNull();
    expect(endings).toEqual([{ kind: "lost", reason: "an answer stopped halfway" }]);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
