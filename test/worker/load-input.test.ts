// What a worker reads of a job's input that is fetched.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { inputLoader } from "../../worker/load-input.ts";
import { assignedJob } from "./job-fixture.ts";

const MIB = 1024 * 1024;

it("stops reading an input that is longer than any may be", async () => {
  let sentMib = 0;
  const server = createServer(async (_request, response) => {
    for (; sentMib < 500 && !response.destroyed; sentMib += 1)
      if (!response.write(Buffer.alloc(MIB, " "))) await once(response, "drain").catch(() => undefined);
    response.end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const load = inputLoader({ apiUrl: `http://127.0.0.1:${port}`, apiKey: "k" });
  const job = { ...assignedJob({ id: "j1" }), input: null, input_url: "/api/jobs/j1/input?lease=1" };
  const loaded = await load(job, new AbortController().signal);
  expect(loaded).toMatchObject({ ok: false, error: { code: "input_unavailable", retryable: true } });
  expect(loaded.ok ? "" : loaded.error.message).toContain("it is too large");
  expect(sentMib).toBeLessThan(100);
  server.closeAllConnections();
  server.close();
});
