// The coordinator's own workers: when they get jobs, what a refused key does, and what is told of it.

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { send } from "../support/requests.ts";
import { folderForAllTests } from "../support/temporary-folder.ts";
import { type Hosted, KEY, startHosted } from "./hosted.ts";

const HELLO = [{ role: "user", content: "say hello to all" }];

const data = folderForAllTests();
let hosted: Hosted;

beforeAll(async () => {
  hosted = await startHosted(data.path);
  await hosted.api("PUT", "/api/provider-keys/acme", { key: KEY });
  await hosted.enable();
}, 120_000);

afterEach(async () => {
  hosted.acme.behave = () => undefined;
  hosted.claudia.behave = () => undefined;
});

afterAll(() => hosted?.stop());

const ask = (body: object, headers: Record<string, string> = {}) =>
  send(
    { url: hosted.server.url, key: hosted.server.adminKey },
    "POST",
    "/v1/chat/completions",
    { messages: HELLO, ...body },
    { headers },
  );

const presence = (instance: string, more: object = {}) =>
  hosted.api("POST", "/presence", {
    instance,
    provider: "home",
    models: ["m1"],
    apis: ["chat/completions"],
    concurrency: 0,
    ...more,
  });

describe("the fleet", () => {
  test("shows the coordinator's own workers, which are never silent, and whose names nobody else may take", async () => {
    expect(await hosted.worker("edge-acme-0")).toMatchObject({
      edge: true,
      provider: "acme",
      tags: "edge",
      models: ["m1", "m2"],
      concurrency: 16,
      status: "idle",
      unavailable: null,
    });
    const taken = { instance: "edge-acme-0", provider: "acme" };
    expect(await hosted.status("POST", "/presence", taken)).toBe(409);
    expect(await hosted.status("DELETE", "/api/workers/edge-acme-0")).toBe(409);
  });

  test("has one for each 32 places, and none once the provider is no longer called", async () => {
    await hosted.enable({ max_concurrent: 40 });
    expect((await hosted.worker("edge-acme-1")).concurrency).toBe(8);
    await hosted.api("PUT", "/config", {});
    expect(await hosted.status("GET", "/api/workers/edge-acme-0")).toBe(404);
    await hosted.enable();
  });

  test("has a worker without a key as unavailable, with the reason", async () => {
    await hosted.api("DELETE", "/api/provider-keys/acme");
    const reason = async () => (await hosted.worker("edge-acme-0")).unavailable;
    await eventually(async () => expect(await reason()).toContain("PROVIDER_ACME_KEY"));
    await hosted.api("PUT", "/api/provider-keys/acme", { key: KEY });
    await eventually(async () => expect(await reason()).toBe(null));
  });

  test("takes the models that the catalog lists, which is read with the tenant's own key", async () => {
    await hosted.api("PUT", "/config", { providers: { acme: { edge: { enabled: true } } } });
    const { id } = await hosted.api("POST", "/catalog/subscriptions", { provider: "acme" });
    expect(await hosted.status("POST", `/catalog/subscriptions/${id}/sync`)).toBe(200);
    const asked = hosted.acme.asked.filter(({ path }) => path === "/v1/models").at(-1);
    expect(asked?.headers.authorization).toBe(`Bearer ${KEY}`);
    await eventually(async () => expect((await hosted.worker("edge-acme-0")).models).toEqual(["m1", "m2"]));
    await hosted.api("DELETE", `/catalog/subscriptions/${id}`);
    await hosted.enable();
  });

  test("has a bound on its provider keys: only providers of the catalog have one", async () => {
    expect(await hosted.status("PUT", "/api/provider-keys/nobody", { key: KEY })).toBe(404);
    expect(await hosted.status("PUT", "/api/provider-keys/acme", { key: "two words" })).toBe(400);
    const { key } = await hosted.api("POST", "/api/keys", { name: "no admin", role: "client" });
    const asClient = { url: hosted.server.url, key };
    expect((await send(asClient, "PUT", "/api/provider-keys/nobody", { key: KEY })).status).toBe(403);
  });
});

describe("a fallback", () => {
  const words = "edge-acme-0 waits: a worker of your own can take this within 1 s";

  test("waits while a worker of one's own can take the job, says so, and then takes it, which is told once a day", async () => {
    await hosted.enable({ after_seconds: 1 });
    await presence("home-1", { concurrency: 1 });
    await hosted.api("POST", "/api/workers/home-1/resume");
    const first = await hosted.api("POST", "/api/jobs", { prompt: "x", model: "m1", provider: "home" });
    await eventually(async () =>
      expect((await hosted.api("GET", `/api/jobs/${first.id}`)).assigned_worker).toBe("home-1"),
    );
    const job = await hosted.api("POST", "/api/jobs", { prompt: "x", model: "m1" });
    expect(job).toMatchObject({ status: "pending", waiting_reason: words });
    const { workers } = await hosted.api("GET", `/dispatch/explain?job_id=${job.id}`);
    const edge = workers.find(({ instance }: { instance: string }) => instance === "edge-acme-0");
    expect(edge.reasons).toEqual([words]);
    expect(await hosted.api("GET", `/api/jobs/${job.id}?wait=20`)).toMatchObject({
      status: "completed",
      assigned_worker: "edge-acme-0",
    });
    const { entries } = await hosted.api("GET", "/api/audit");
    const told = entries.filter(({ action }: { action: string }) => action === "overflow.started");
    expect(told).toMatchObject([{ target: "acme", detail: { worker: "edge-acme-0", job_id: job.id } }]);
    await hosted.api("POST", `/api/jobs/${first.id}/cancel`);
  });

  test("takes at once what no other worker can", async () => {
    await hosted.enable({ after_seconds: 600 });
    const job = await hosted.api("POST", "/api/jobs", { prompt: "x", model: "m2" });
    expect((await hosted.api("GET", `/api/jobs/${job.id}?wait=20`)).assigned_worker).toBe("edge-acme-0");
  });

  test("as a peer is scored as any other", async () => {
    await hosted.enable({ as: "peer" });
    await presence("home-1", { concurrency: 1, status: "busy" });
    const job = await hosted.api("POST", "/api/jobs", { prompt: "x", model: "m1" });
    expect((await hosted.api("GET", `/api/jobs/${job.id}?wait=20`)).assigned_worker).toBe("edge-acme-0");
    await hosted.api("POST", "/api/workers/home-1/pause", {});
    await hosted.enable();
  });
});

describe("a job is kept away from hosted providers", () => {
  test("by its own field, and says what it waits for", async () => {
    const job = await hosted.api("POST", "/api/jobs", { prompt: "x", model: "m2", edge: false });
    expect(job).toMatchObject({ edge: false, status: "pending" });
    expect(job.waiting_reason).toContain("edge: false");
    await hosted.api("POST", `/api/jobs/${job.id}/cancel`);
  });

  test("by a header, and by the limits of its key", async () => {
    const off = await ask({ model: "m2" }, { "x-signalbox-edge": "off", "x-signalbox-queue": "0" });
    expect(off.status).toBe(503);
    expect((await ask({ model: "m2" }, { "x-signalbox-edge": "false" })).status).toBe(400);
    const { key } = await hosted.api("POST", "/api/keys", { name: "k", role: "client", limits: { edge: false } });
    const limited = await send(
      { url: hosted.server.url, key },
      "POST",
      "/v1/chat/completions",
      { model: "m2", messages: HELLO },
      { headers: { "x-signalbox-queue": "0" } },
    );
    expect(limited.status).toBe(503);
  });

  test("by the limits of its key, and the explanation selects whom a dispatch would take", async () => {
    const { key } = await hosted.api("POST", "/api/keys", { name: "k", role: "standard", limits: { edge: false } });
    const limited = { url: hosted.server.url, key };
    expect((await send(limited, "POST", "/dispatch", { prompt: "x", model: "m2" })).status).toBe(503);
    expect((await send(limited, "GET", "/dispatch/explain?model=m2")).body.selected).toBeNull();
    expect((await hosted.api("GET", "/dispatch/explain?model=m2")).selected).toBe("edge-acme-0");
  });
});

describe("a list of models", () => {
  const failing = { status: 503, errorBody: { error: { message: "overloaded" } } };

  test("of an alias is tried in order, at once, and the answer says so", async () => {
    const aliases = {
      fast: [
        { model: "m1", provider: "acme" },
        { model: "m2", provider: "acme" },
      ],
    };
    await hosted.enable({}, { front_door: { aliases } });
    hosted.acme.behave = ({ body }) => (body?.model === "m1" ? failing : undefined);
    const { status, body, headers } = await ask({ model: "fast" });
    expect([status, body.choices?.[0]?.message.content]).toEqual([200, "say hello to all"]);
    expect(headers.get("x-signalbox-provider")).toBe("acme");
    expect(headers.get("x-signalbox-model")).toBe("m2");
    expect(headers.get("x-signalbox-fallback")).toBe("true");
    const job = await hosted.api("GET", `/api/jobs/${headers.get("x-signalbox-job")}`);
    expect(job).toMatchObject({
      requested_model: "fast",
      model: "m2",
      tried: [{ model: "m1", provider: "acme", code: "overloaded" }],
    });
  });

  test("goes on after an answer that broke off, as long as the client has received nothing of it", async () => {
    hosted.acme.behave = ({ body }) => (body?.model === "m1" ? { words: ["one", "two"], cutAfter: 1 } : undefined);
    const before = hosted.acme.calls.length;
    const { status, headers } = await ask({ model: "m1", models: ["m2"] });
    expect([status, headers.get("x-signalbox-model")]).toEqual([200, "m2"]);
    expect(hosted.acme.calls.length - before).toBe(2);
  });

  test("of the request does the same, and is not sent on", async () => {
    hosted.acme.behave = ({ body }) => (body?.model === "m1" ? failing : undefined);
    const { status, headers } = await ask({ model: "m1", models: ["m2"], edge: true });
    expect([status, headers.get("x-signalbox-model")]).toEqual([200, "m2"]);
    expect(hosted.acme.calls.at(-1)?.body).not.toHaveProperty("models");
    expect(hosted.acme.calls.at(-1)?.body).not.toHaveProperty("edge");
    const job = await hosted.api("GET", `/api/jobs/${headers.get("x-signalbox-job")}`);
    expect(job.tried).toEqual([{ model: "m1", provider: "acme", code: "overloaded" }]);
  });

  test("of the request counts a name that nobody has as tried", async () => {
    hosted.acme.behave = () => undefined;
    const { status, headers } = await ask({ model: "nobodys", models: ["others", "m2"] });
    expect([status, headers.get("x-signalbox-model"), headers.get("x-signalbox-fallback")]).toEqual([
      200,
      "m2",
      "true",
    ]);
    const job = await hosted.api("GET", `/api/jobs/${headers.get("x-signalbox-job")}`);
    const unknown = { provider: null, code: "model_not_found" };
    expect([job.requested_model, job.tried]).toEqual([
      "nobodys",
      [
        { model: "nobodys", ...unknown },
        { model: "others", ...unknown },
      ],
    ]);
    expect((await ask({ model: "nobodys", models: ["others"] })).status).toBe(404);
  });

  test("ends with a refusal that another model would repeat", async () => {
    hosted.acme.behave = () => ({ status: 400, errorBody: { error: { message: "bad words" } } });
    const { status, headers } = await ask({ model: "m1", models: ["m2"] });
    expect([status, headers.get("x-signalbox-fallback")]).toEqual([400, null]);
  });
});

describe("a new key", () => {
  test("counts at once for each worker of its provider, and the refusal of the old one stops none", async () => {
    await hosted.enable({ max_concurrent: 64 });
    const current = { key: KEY };
    const [first, next] = [KEY, `${KEY}-next`];
    hosted.acme.behave = ({ headers }) =>
      headers.authorization === `Bearer ${current.key}`
        ? { words: ["fine"], headersAfterMs: 400 }
        : { status: 401, headersAfterMs: 400, errorBody: { error: { message: "bad key" } } };
    const askMany = () => Promise.all(Array.from({ length: 50 }, () => ask({ model: "m1" })));
    const statuses = async () => (await askMany()).map(({ status }) => status);
    expect(await statuses()).toEqual(new Array(50).fill(200));
    current.key = next;
    const before = hosted.acme.asked.length;
    const underWay = askMany();
    await hosted.acme.until(() => hosted.acme.asked.length >= before + 50);
    expect(await hosted.status("PUT", "/api/provider-keys/acme", { key: next })).toBe(204);
    await underWay;
    expect(await statuses()).toEqual(new Array(50).fill(200));
    for (const number of [0, 1]) expect((await hosted.worker(`edge-acme-${number}`)).unavailable).toBe(null);
    await hosted.api("PUT", "/api/provider-keys/acme", { key: first });
  });
});
