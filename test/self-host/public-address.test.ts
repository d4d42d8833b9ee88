// SERVICE_PUBLIC_URL names the service in every link, whatever a request calls it, also in what was stored before.

import { afterAll, beforeAll, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { send, succeed } from "../support/requests.ts";
import { type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";
import { folderForAllTests } from "../support/temporary-folder.ts";
import { openReceiver, type Receiver } from "../webhooks/receiver.ts";

const PUBLIC = "https://jobs.example.com";
/** What a client may say. */
const headers = { "x-forwarded-host": "elsewhere.example", "x-forwarded-proto": "https" };

const data = folderForAllTests();
let server: SelfHosted;
let receiver: Receiver;
let early: string;

const start = async (env: Record<string, string> = {}): Promise<void> => {
  server = await startSelfHosted(data.path, { env: { SERVICE_WEBHOOKS_PRIVATE: "1", ...env } });
};
const call = (method: string, route: string, body?: unknown) =>
  succeed({ url: server.url, key: server.adminKey }, method, route, body, { headers });
const upload = async (name: string): Promise<string> => (await call("POST", `/api/files?name=${name}`, name)).id;

beforeAll(async () => {
  receiver = await openReceiver();
  await start();
  early = await upload("early");
  await call("POST", "/api/webhooks", { url: receiver.url, events: ["job.cancelled"] });
  expect((await call("POST", `/api/files/${early}/link`)).url).toContain("https://elsewhere.example/files/");
  await server.stop();
  await start({ SERVICE_PUBLIC_URL: `${PUBLIC}/` });
}, 180_000);

afterAll(async () => {
  await server?.kill();
  await receiver?.close();
});

it("in a link to a file", async () => {
  const { url } = await call("POST", `/api/files/${early}/link`);
  expect(url).toContain(`${PUBLIC}/files/`);
  const { status } = await send({ url: server.url, key: "" }, "GET", url.slice(PUBLIC.length));
  expect(status).toBe(200);
});

it("in the files that a worker gets with its job, those stored before included", async () => {
  const files = [early, await upload("late")];
  await call("POST", "/presence", { instance: "w", provider: "p", status: "idle", tags: "" });
  await call("POST", "/api/jobs", { prompt: "x", files });
  const { jobs } = await call("POST", "/api/workers/w/claim?wait=25");
  const origins = jobs[0].files.map(({ url }: { url: string }) => new URL(url).origin);
  expect(origins).toEqual([PUBLIC, PUBLIC]);
});

it("in what a webhook tells, though it was made before", async () => {
  const { id } = await call("POST", "/api/jobs", { prompt: "x", tags: ["nobody"] });
  await call("POST", `/api/jobs/${id}/cancel`);
  const [told] = await receiver.next("job.cancelled");
  expect(told?.told.data.url).toBe(`${PUBLIC}/api/jobs/${id}`);
});

it("in the address of a batch's results", async () => {
  const requests = [{ custom_id: "a", params: { model: "m", max_tokens: 1, messages: [] } }];
  const { id } = await call("POST", "/v1/messages/batches", { requests });
  await call("POST", `/v1/messages/batches/${id}/cancel`);
  const batch = await eventually(async () => {
    const one = await call("GET", `/v1/messages/batches/${id}`);
    expect(one.processing_status).toBe("ended");
    return one;
  });
  expect(batch.results_url).toBe(`${PUBLIC}/v1/messages/batches/${id}/results`);
});

it.each([
  [PUBLIC, 200],
  ["https://elsewhere.example", 403],
])("to the page of %s that signs in by a proxy that does not pass its host on: %i", async (origin, status) => {
  const body = JSON.stringify({ key: server.adminKey });
  const sent = { "content-type": "application/json", "sec-fetch-site": "same-origin", origin };
  const answer = await fetch(`${server.url}/session`, { method: "POST", headers: sent, body });
  expect(answer.status).toBe(status);
});
