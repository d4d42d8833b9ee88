// The tenant's config over the API: JSON and YAML, strict, with all defaults.

import { evictDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { newWorld, request, type World } from "../support/workerd/client.ts";

const YAML = { "content-type": "application/yaml" };
const putYaml = (world: World, text: string, headers: Record<string, string> = {}) =>
  request(world.key, "PUT", "/config", undefined, { raw: text, headers: { ...YAML, ...headers } });

describe("reading", () => {
  it("shows every default, to any role, with an ETag", async () => {
    const world = await newWorld();
    const worker = await world.withKey("worker");
    const answer = await worker.get("/config");
    expect(answer.status).toBe(200);
    expect(answer.headers.get("etag")).toMatch(/^".+"$/);
    expect(answer.body).toMatchObject({
      jobs: {
        timeout_seconds: 900,
        reap_stale_after_seconds: 120,
        max_attempts: 5,
        accept_within_seconds: 30,
        retry: { backoff_seconds: 1, max_backoff_seconds: 300 },
      },
      presence: { heartbeat_interval_seconds: 15, offline_after_seconds: 60, forget_after_seconds: 604_800 },
      providers: {},
      routing: {
        strategy: "score",
        chain: [],
        weights: { capacity: 30, tag_fit: 15, model_loaded: 15, success: 15, freshness: 10, cost: 5, tier: 10 },
      },
      budget: { day_usd: null, month_usd: null, on_reached: "reject" },
      api: { limits: { requests_per_second: null, burst: null, in_flight: null } },
      history: { keep_days: null, keep_texts_days: null },
    });
  });

  it("of a provider that is only said to be rate limited, waits five seconds and tries three times again", async () => {
    const world = await newWorld();
    const limited = await putYaml(world, "providers: { openai: { rate_limit: {} } }");
    expect(limited.body.providers.openai.rate_limit).toMatchObject({ retry_after_seconds: 5, max_retries: 3 });
  });

  it("gives YAML where it is accepted, and what it gives can be put back", async () => {
    const world = await newWorld();
    const read = await world.get("/config", { headers: { accept: "application/yaml" } });
    expect(read.headers.get("content-type")).toContain("application/yaml");
    expect(read.text).toContain("timeout_seconds: 900");
    const written = await putYaml(world, read.text);
    expect(written.status).toBe(200);
    expect(written.body).toEqual((await world.get("/config")).body);
  });

  it("answers 304 to the ETag it has, also in a list or weakened by a proxy", async () => {
    const world = await newWorld();
    const etag = (await world.get("/config")).headers.get("etag") ?? "";
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const answer = await world.get("/config", { headers: { "if-none-match": known } });
      expect([known, answer.status, answer.text]).toEqual([known, 304, ""]);
      expect(answer.headers.get("etag")).toBe(etag);
    }
    expect((await world.get("/config", { headers: { "if-none-match": '"other"' } })).status).toBe(200);
  });
});

describe("what is accepted", () => {
  it.each([
    ["application/yaml", "yaml"],
    ["text/yaml, */*", "yaml"],
    ["application/json, application/yaml;q=0.5", "json"],
    ["application/yaml;q=0.5, application/json", "json"],
    ["application/json;q=0.1, application/yaml; q=0.9", "yaml"],
    ["*/*", "json"],
    ["text/html", "json"],
  ])("%s is answered with %s", async (accept, kind) => {
    const world = await newWorld();
    const answer = await world.get("/config", { headers: { accept } });
    expect(answer.headers.get("content-type")).toContain(kind);
  });
});

describe("writing", () => {
  it("holds at once, over an eviction, and takes defaults for what is left out", async () => {
    const world = await newWorld();
    const written = await world.put("/config", {
      jobs: { timeout_seconds: null, reap_stale_after_seconds: 30 },
      providers: { openai: { rate_limit: { max_concurrent: 2, retry_after_seconds: 10, max_retries: 1 } } },
      ollama: { model: "llama3.2" },
    });
    expect(written.status).toBe(200);
    expect(written.body.jobs).toEqual({
      timeout_seconds: null,
      reap_stale_after_seconds: 30,
      max_attempts: 5,
      accept_within_seconds: 30,
      retry: { backoff_seconds: 1, max_backoff_seconds: 300 },
    });
    await evictDurableObject(world.stub);
    const read = await world.get("/config");
    expect(read.body).toEqual(written.body);
    expect(read.body.ollama).toEqual({ model: "llama3.2" });
    expect(read.headers.get("etag")).toBe(written.headers.get("etag"));
    await world.ok("PUT", "/config", {});
    expect((await world.get("/config")).body.ollama).toBeUndefined();
  });

  it("takes a model for every local runtime that the catalog knows", async () => {
    const world = await newWorld();
    const { providers } = await world.ok("GET", "/catalog/providers");
    const local = providers
      .filter((one: { local: boolean }) => one.local)
      .map((one: { provider: string }) => one.provider);
    expect(local.length).toBeGreaterThan(3);
    for (const name of local) {
      expect([name, (await world.put("/config", { [name]: { model: "m" } })).status]).toEqual([name, 200]);
    }
  });

  it("fits the other presence time where only one is given, and refuses two that do not go together", async () => {
    const world = await newWorld();
    const presence = async (given: Record<string, number>) =>
      (await world.ok("PUT", "/config", { presence: given })).presence;
    expect(await presence({ offline_after_seconds: 2 })).toMatchObject({
      heartbeat_interval_seconds: 0.5,
      offline_after_seconds: 2,
    });
    expect(await presence({ heartbeat_interval_seconds: 60 })).toMatchObject({
      heartbeat_interval_seconds: 60,
      offline_after_seconds: 240,
    });
    expect(await presence({ heartbeat_interval_seconds: 5 })).toMatchObject({
      heartbeat_interval_seconds: 5,
      offline_after_seconds: 60,
    });
    const mismatched = { presence: { heartbeat_interval_seconds: 9, offline_after_seconds: 9 } };
    expect((await world.put("/config", mismatched)).status).toBe(400);
  });

  it("takes no work from a worker that beats as it is told: heartbeats and reaping fit each other, or are refused", async () => {
    const world = await newWorld();
    const times = async (jobs: object, presence: object) => {
      const { body } = await world.put("/config", { jobs, presence });
      return [body.presence?.heartbeat_interval_seconds, body.jobs?.reap_stale_after_seconds];
    };
    expect(await times({ reap_stale_after_seconds: 4 }, {})).toEqual([1, 4]);
    expect(await times({ reap_stale_after_seconds: 8 }, { offline_after_seconds: 2 })).toEqual([0.5, 8]);
    expect(await times({ reap_stale_after_seconds: 30 }, {})).toEqual([15, 30]);
    expect(await times({ reap_stale_after_seconds: null }, {})).toEqual([15, null]);
    expect(await times({}, { heartbeat_interval_seconds: 61, offline_after_seconds: 100 })).toEqual([61, 244]);
    const mismatched = { jobs: { reap_stale_after_seconds: 10 }, presence: { heartbeat_interval_seconds: 15 } };
    const refused = await world.put("/config", mismatched);
    expect(refused.status).toBe(400);
    expect(refused.body.errors).toMatchObject([{ path: "jobs.reap_stale_after_seconds" }]);
  });

  it("refuses to overwrite somebody else's change", async () => {
    const world = await newWorld();
    const etag = (await world.get("/config")).headers.get("etag") ?? "";
    const put = (ifMatch: string, seconds: number) =>
      world.put("/config", { jobs: { timeout_seconds: seconds } }, { headers: { "if-match": ifMatch } });
    const first = await put(etag, 10);
    expect(first.status).toBe(200);
    const late = await put(etag, 20);
    expect(late).toMatchObject({ status: 412, body: { code: "etag_mismatch", status: 412 } });
    expect((await world.get("/config")).body.jobs.timeout_seconds).toBe(10);
    expect((await put(`W/${first.headers.get("etag")}`, 30)).status).toBe(200);
    expect((await put("*", 40)).status).toBe(200);
    const current = (await world.get("/config")).headers.get("etag");
    expect((await put(`"other", ${current}`, 50)).status).toBe(200);
  });

  it("with dry_run says what would hold and changes nothing", async () => {
    const world = await newWorld();
    const answer = await world.put("/config?dry_run=true", { jobs: { timeout_seconds: 5 } });
    expect(answer).toMatchObject({ status: 200, body: { jobs: { timeout_seconds: 5 } } });
    expect((await world.get("/config")).body.jobs.timeout_seconds).toBe(900);
    expect((await world.put("/config?dry_run=true", { jobs: { timeot_seconds: 5 } })).status).toBe(400);
    const mismatch = { headers: { "if-match": '"other"' } };
    expect((await world.put("/config?dry_run=true", {}, mismatch)).status).toBe(412);
  });

  it("is for admins", async () => {
    const world = await newWorld();
    for (const role of ["standard", "worker"] as const) {
      const client = await world.withKey(role);
      expect((await client.put("/config", {})).status).toBe(403);
      expect((await client.put("/config?dry_run=true", {})).status).toBe(403);
    }
    expect((await request(null, "PUT", "/config", {})).status).toBe(401);
  });

  it("names the field, what is wrong with it, and the nearest known name", async () => {
    const world = await newWorld();
    const wrong: [unknown, string, RegExp][] = [
      [{ jobs: { timeot_seconds: 1 } }, "jobs.timeot_seconds", /timeout_seconds/],
      [{ job: {} }, "job", /"jobs"/],
      [{ jobs: { timeout_seconds: "10" } }, "jobs.timeout_seconds", /number/],
      [{ jobs: { timeout_seconds: -1 } }, "jobs.timeout_seconds", /./],
      [{ jobs: { max_attempts: 0 } }, "jobs.max_attempts", /./],
      [{ routing: { strategy: "best" } }, "routing.strategy", /round_robin/],
      [{ routing: { strategy: "fallback" } }, "routing.chain", /at least one provider/],
      [{ routing: { weights: { capacty: 1 } } }, "routing.weights.capacty", /capacity/],
      [
        { providers: { openai: { rate_limit: { max_concurrent: 0 } } } },
        "providers.openai.rate_limit.max_concurrent",
        /./,
      ],
      [
        { providers: { openai: { pricing: { "*": { input_per_mtok: -1 } } } } },
        "providers.openai.pricing.*.input_per_mtok",
        /./,
      ],
      [{ providers: { openai: { rate_limits: {} } } }, "providers.openai.rate_limits", /rate_limit/],
      [{ budget: { on_reached: "panic" } }, "budget.on_reached", /killswitch/],
      [
        { presence: { heartbeat_interval_seconds: 60, offline_after_seconds: 60 } },
        "presence.offline_after_seconds",
        /longer/,
      ],
      [{ olama: { model: "x" } }, "olama", /ollama/],
      [[], "", /./],
      [null, "", /./],
      ["text", "", /./],
    ];
    for (const [document, path, message] of wrong) {
      const answer = await world.put("/config", document);
      expect([JSON.stringify(document), answer.status]).toEqual([JSON.stringify(document), 400]);
      const said = answer.body.errors.find((one: { path: string }) => one.path === path);
      expect([JSON.stringify(document), said?.message ?? JSON.stringify(answer.body.errors)]).toEqual([
        JSON.stringify(document),
        expect.stringMatching(message),
      ]);
    }
    expect((await world.get("/config")).body.jobs.timeout_seconds).toBe(900);
  });

  it("refuses what is neither JSON nor YAML, nothing at all, and too much", async () => {
    const world = await newWorld();
    const raw = (text: string, type: string) =>
      request(world.key, "PUT", "/config", undefined, { raw: text, headers: { "content-type": type } });
    for (const type of ["text/plain", "application/json; charset=utf-16", "application/yaml; charset=latin1"])
      expect([type, (await raw("{}", type)).status]).toEqual([type, 415]);
    expect((await raw("{", "application/json")).status).toBe(400);
    expect((await raw("", "application/json")).status).toBe(400);
    expect((await raw("", "application/yaml")).status).toBe(400);
    expect((await raw(`"${"x".repeat(2_000_000)}"`, "application/json")).status).toBe(413);
    expect((await raw(`a: ${"x".repeat(2_000_000)}`, "application/yaml")).status).toBe(413);
  });
});

describe("YAML from a stranger", () => {
  it("is read like JSON, with its comments", async () => {
    const world = await newWorld();
    const text =
      "# mine\njobs:\n  timeout_seconds: 60 # a minute\nrouting: {strategy: fallback, chain: [ollama, openai]}\n";
    const answer = await putYaml(world, text, { "content-type": "text/yaml; charset=utf-8" });
    expect(answer).toMatchObject({
      status: 200,
      body: { jobs: { timeout_seconds: 60 }, routing: { strategy: "fallback", chain: ["ollama", "openai"] } },
    });
  });

  it.each([
    ["an alias", "jobs: &j {timeout_seconds: 1}\nbudget: *j\n"],
    ["a merge key", "x: &a {timeout_seconds: 1}\njobs:\n  <<: *a\n"],
    ["a bomb of aliases", `a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: [*c,*c]\n`],
    ["a duplicate key", "jobs: {timeout_seconds: 1}\njobs: {timeout_seconds: 2}\n"],
    ["a duplicate key in a map", "jobs:\n  timeout_seconds: 1\n  timeout_seconds: 2\n"],
    ["two documents", "jobs: {}\n---\njobs: {}\n"],
    ["a tag of another language", "jobs: !!js/function 'function(){}'\n"],
    ["an own tag", "jobs: !thing {timeout_seconds: 1}\n"],
    ["__proto__", "__proto__:\n  jobs: {timeout_seconds: 1}\n"],
    ["__proto__ as a provider", "providers:\n  __proto__: {rate_limit: {max_concurrent: 1}}\n"],
    ["constructor", "constructor: {prototype: {x: 1}}\n"],
    ["deep brackets", `jobs: ${"[".repeat(2000)}${"]".repeat(2000)}\n`],
    ["deep braces", `jobs: ${"{a: ".repeat(500)}1${"}".repeat(500)}\n`],
    ["deep dashes on one line", `${"- ".repeat(20_000)}x\n`],
    ["deep indentation", Array.from({ length: 200 }, (_, depth) => `${" ".repeat(depth)}a:`).join("\n")],
    ["infinity", "jobs: {timeout_seconds: .inf}\n"],
    ["not a number", "jobs: {timeout_seconds: .nan}\n"],
    ["a list", "- jobs\n"],
    ["a scalar", "hello\n"],
    ["only a comment", "# nothing\n"],
    ["a broken line", "jobs: {timeout_seconds: 1\n"],
    ["tabs", "jobs:\n\ttimeout_seconds: 1\n"],
  ])("refuses %s with 400", async (_what, text) => {
    const world = await newWorld();
    const answer = await putYaml(world, text);
    expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
    expect(answer.body.detail.length).toBeLessThan(600);
    expect((await world.get("/config")).body.jobs.timeout_seconds).toBe(900);
  });

  it("says that only one document is read, in words of its own", async () => {
    const world = await newWorld();
    const { detail } = (await putYaml(world, "jobs: {}\n---\njobs: {}\n")).body;
    expect(detail).toBe("the body must be YAML: it has more than one document");
  });

  it("does not search for ever in brackets that stay open", async () => {
    const world = await newWorld();
    const filler = "x".repeat(3_500);
    const startedAt = performance.now();
    const answer = await putYaml(world, `a: ${Array.from({ length: 16 }, () => `[${filler}`).join("")}`);
    expect(answer.status).toBe(400);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });

  it("refuses __proto__ in JSON, too, and pollutes nothing", async () => {
    const world = await newWorld();
    for (const text of [
      '{"__proto__":{"jobs":{}}}',
      '{"providers":{"__proto__":{"pricing":{}}}}',
      '{"jobs":{"__proto__":{}}}',
    ]) {
      const answer = await request(world.key, "PUT", "/config", undefined, {
        raw: text,
        headers: { "content-type": "application/json" },
      });
      expect([text, answer.status]).toEqual([text, 400]);
    }
    expect(({} as Record<string, unknown>).jobs).toBeUndefined();
  });
});

describe("what a change does", () => {
  it("is in the audit log with who, before and after", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { jobs: { timeout_seconds: 60 } });
    const { entries } = await world.ok("GET", "/api/audit");
    expect(entries[0]).toMatchObject({
      action: "config.replaced",
      actor: { name: "first admin key" },
      detail: { jobs: { before: { timeout_seconds: 900 }, after: { timeout_seconds: 60 } } },
    });
    expect(Object.keys(entries[0].detail)).toEqual(["jobs"]);
  });

  it("is felt by what waits: a limit that is lifted lets the queue go on", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { providers: { echo: { rate_limit: { max_concurrent: 1 } } } });
    await world.ok("POST", "/presence", { instance: "w", status: "idle", provider: "echo", tags: "", concurrency: 5 });
    const jobs = (await world.ok("POST", "/api/jobs/batch", { jobs: [{ prompt: "1" }, { prompt: "2" }] })).jobs;
    const second = await world.ok("GET", `/api/jobs/${jobs[1].id}`);
    expect(second).toMatchObject({ status: "pending", waiting_reason: expect.stringContaining("max_concurrent (1)") });
    await world.ok("PUT", "/config", {});
    expect(await world.ok("GET", `/api/jobs/${jobs[1].id}`)).toMatchObject({ status: "assigned" });
  });
});

it("refuses a YAML key that appears twice, and reads thousands of keys fast", async () => {
  const given = await newWorld();
  const put = (raw: string) =>
    given.put("/config", undefined, { raw, headers: { "content-type": "application/yaml" } });
  const twice = await put("jobs:\n  max_attempts: 2\n  max_attempts: 3\n");
  expect([twice.status, twice.body.detail]).toEqual([400, expect.stringContaining('"max_attempts" appears twice')]);
  const many = Array.from({ length: 6_000 }, (_, index) => `k${index}: 1`).join("\n");
  const startedAt = performance.now();
  expect((await put(many)).status).toBe(400);
  expect(performance.now() - startedAt).toBeLessThan(3_000);
});
