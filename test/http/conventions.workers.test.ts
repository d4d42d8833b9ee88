// Section 1 of the contract: problems, limits, malformed requests. The OpenAPI document: documents.workers.test.ts.

import { describe, expect, it } from "vitest";
import { type Body, ORIGIN, request } from "../support/workerd/client.ts";
import { edgeFetch } from "../support/workerd/edge.ts";
import { useOwnTenant, world } from "../support/workerd/own-tenant.ts";

useOwnTenant();

describe("errors", () => {
  it("are problem documents that bear the request's id, also where nothing is", async () => {
    for (const [method, path] of [
      ["GET", "/api/nothing"],
      ["POST", "/nowhere"],
      ["GET", "/api/jobs/"],
      ["GET", "/api/jobs/a/b/c"],
      ["GET", "/%00"],
      ["GET", "/%E0%A4%A"],
    ] as const) {
      const answer = await world.get(path, { headers: { "x-request-id": "mine-1" } });
      const { status, headers, body } =
        method === "GET"
          ? answer
          : await request(world.key, method, path, undefined, { headers: { "x-request-id": "mine-1" } });
      expect([path, status]).toEqual([path, 404]);
      expect(headers.get("content-type")).toBe("application/problem+json");
      expect(headers.get("x-request-id")).toBe("mine-1");
      expect(body).toMatchObject({ title: "Not found", status: 404, instance: "mine-1", code: "not_found" });
    }
  });

  it("name what is not there by its own word", async () => {
    for (const [path, words] of [
      ["/api/batches/!", 'batch "!" not found'],
      ["/api/archive/!", 'archived day "!" not found'],
      ["/api/jobs/!", 'job "!" not found'],
    ] as const)
      expect([path, (await world.get(path)).body.detail]).toEqual([path, words]);
    for (const [path, words] of [
      ["/api/webhooks/deliveries/!/redeliver", 'delivery "!" not found'],
      ["/api/model-tasks/!/cancel", 'model task "!" not found'],
      ["/api/people/!/block", 'person "!" not found'],
    ] as const)
      expect([path, (await world.post(path, {})).body.detail]).toEqual([path, words]);
    const door = await world.get("/v1/batches/!");
    expect(door.body.error.message).toBe('batch "!" not found');
  });

  it("say what to change: a plus that an address lost, an end that was not given, a worker that never reported", async () => {
    const ZONE = "must be an RFC 3339 time with its zone, as in 2026-01-31T09:00:00Z";
    for (const [path, words] of [
      ["/api/jobs?since=2026-01-31T09:00:00+01:00", `since: ${ZONE}; in an address write + as %2B`],
      ["/api/jobs?since=yesterday", `since: ${ZONE}`],
      ["/api/cost?from=2999-01-01T00:00:00Z", "from: must be in the past: without to, the span ends now"],
      ["/api/cost?from=2001-01-01T00:00:00Z", "from: must be at most 92 days ago: without to, the span ends now"],
    ] as const)
      expect([path, (await world.get(path)).body.detail]).toEqual([path, words]);
    expect((await world.get("/api/jobs?since=2026-01-31T09:00:00%2B01:00")).status).toBe(200);
    const claim = await world.post("/api/workers/never/claim", {});
    expect(claim.body.detail).toBe('worker "never" not found: it registers with POST /presence');
  });

  it("say what is wrong with a client's base URL", async () => {
    const without = await world.post("/chat/completions", {});
    const words = `route "/chat/completions" not found: the client's base URL must end with "/v1"`;
    expect([without.status, without.body.detail]).toEqual([404, words]);
    for (const path of ["/v1/v1/messages", "/v1/api/jobs"]) {
      const answer = await edgeFetch(`${ORIGIN}${path}`, { method: "POST" });
      const message = `route "${path}" not found: the client's base URL must end before "/v1"`;
      expect(await answer.json()).toMatchObject({ error: { message } });
    }
    for (const path of ["/v1//chat/completions", "//v1/messages"]) {
      const { error, detail } = await (await edgeFetch(`${ORIGIN}${path}`, { method: "POST" })).json<Body>();
      expect(error?.message ?? detail).toBe(`route "${path}" not found: the client's base URL must not end with "/"`);
    }
    expect((await world.post("/completion", {})).body.detail).toBe('route "/completion" not found');
  });

  it("say that an address is too long, in both dialects", async () => {
    const long = "a".repeat(16 * 1024);
    const answer = await world.get(`/api/jobs?q=${long}`);
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
    expect([answer.status, answer.body]).toMatchObject([414, { code: "uri_too_long", status: 414 }]);
    expect(answer.headers.get("x-request-id")).toBe(answer.body.instance);
    const door = await world.get(`/v1/models?q=${long}`);
    expect([door.status, door.body.error.code]).toEqual([414, "uri_too_long"]);
    expect((await world.get(`/api/jobs?q=${"a".repeat(200)}`)).status).toBe(200);
  });

  it("name the allowed methods where the method is wrong", async () => {
    const allowed: Record<string, string> = {
      "/api/jobs": "POST, GET, HEAD",
      "/dispatch": "POST",
      "/presence": "POST, GET, HEAD",
      "/api/jobs/x": "GET, PATCH, HEAD",
      "/api/keys": "POST, GET, HEAD",
      "/health": "GET, HEAD",
    };
    for (const [path, allow] of Object.entries(allowed)) {
      for (const method of ["PUT", "OPTIONS"]) {
        const { status, headers, body } = await request(world.key, method, path);
        expect([path, method, status, headers.get("allow")]).toEqual([path, method, 405, allow]);
        expect(body.code).toBe("method_not_allowed");
      }
    }
    expect((await request(world.key, "HEAD", "/dispatch")).status).toBe(405);
  });

  it("give an invented request id where the given one is unfit", async () => {
    const { headers } = await world.get("/health", { headers: { "x-request-id": "x".repeat(129) } });
    expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe("who may ask", () => {
  const broken = { nonsense: true };

  it("is settled before what is asked: a stranger hears 401 and a small role 403, whatever the body", async () => {
    const worker = await world.withKey("worker");
    for (const [method, path] of [
      ["POST", "/api/jobs"],
      ["POST", "/dispatch"],
      ["PATCH", "/api/jobs/x"],
      ["GET", "/api/jobs?limit=nonsense"],
      ["POST", "/api/keys"],
      ["DELETE", "/api/keys/!"],
      ["POST", "/api/workers/!/pause"],
      ["GET", "/dispatch/explain?urgency=nonsense"],
      ["POST", "/api/jobs/batch"],
    ] as const) {
      const body = method === "GET" || method === "DELETE" ? undefined : broken;
      expect([path, (await request(null, method, path, body)).status]).toEqual([path, 401]);
      expect([path, (await request(worker.key, method, path, body)).status]).toEqual([path, 403]);
    }
    for (const [method, path] of [
      ["POST", "/presence"],
      ["POST", "/api/jobs/x/complete"],
      ["POST", "/api/workers/x/claim?wait=nonsense"],
      ["POST", "/admin/tenants"],
    ] as const) {
      expect([path, (await request(null, method, path, broken)).status]).toEqual([path, 401]);
    }
    const standard = await world.withKey("standard");
    for (const [method, path] of [
      ["POST", "/api/keys"],
      ["PUT", "/config"],
    ] as const) {
      expect([path, (await request(standard.key, method, path, broken)).status]).toEqual([path, 403]);
    }
  });
});

describe("bodies", () => {
  it("name every unknown field, with the nearest known one", async () => {
    const { status, body } = await world.post("/api/jobs", {
      prompt: "a",
      provder: "x",
      priorty: "low",
      timeout: 5,
      model_name: "m",
      zzzzzzzzzz: 1,
    });
    expect(status).toBe(400);
    const messages = Object.fromEntries(
      body.errors.map((one: { path: string; message: string }) => [one.path, one.message]),
    );
    expect(messages.provder).toContain('did you mean "provider"');
    expect(messages.priorty).toContain('did you mean "priority"');
    expect(messages.timeout).toContain('did you mean "timeout_seconds"');
    expect(messages.model_name).toContain('did you mean "model"');
    expect(messages.zzzzzzzzzz).toContain("unknown field");
    expect(body.detail).toContain("provder");
  });

  it("are refused by field where a value is wrong", async () => {
    const wrong: [Record<string, unknown>, string][] = [
      [{}, "prompt"],
      [{ prompt: "" }, "prompt"],
      [{ prompt: 7 }, "prompt"],
      [{ prompt: null }, "prompt"],
      [{ prompt: "a\u0000b" }, "prompt"],
      [{ prompt: "\ud800" }, "prompt"],
      [{ prompt: "x".repeat(256 * 1024 + 1) }, "prompt"],
      [{ prompt: "é".repeat(128 * 1024 + 1) }, "prompt"],
      [{ prompt: "a", priority: "urgent" }, "priority"],
      [{ prompt: "a", tier: "gold" }, "tier"],
      [{ prompt: "a", tags: "gpu" }, "tags"],
      [{ prompt: "a", tags: ["ok", "not ok"] }, "tags.1"],
      [{ prompt: "a", tags: ["a".repeat(65)] }, "tags.0"],
      [{ prompt: "a", tags: Array.from({ length: 33 }, (_, i) => `t${i}`) }, "tags"],
      [{ prompt: "a", provider: "p".repeat(129) }, "provider"],
      [{ prompt: "a", model: "m".repeat(129) }, "model"],
      [{ prompt: "a", timeout_seconds: 0 }, "timeout_seconds"],
      [{ prompt: "a", timeout_seconds: "NaN" }, "timeout_seconds"],
      [{ prompt: "a", max_attempts: 2 ** 53 }, "max_attempts"],
      [{ prompt: "a", max_attempts: 1.5 }, "max_attempts"],
      [{ prompt: "a", run_at: "tomorrow" }, "run_at"],
      [{ prompt: "a", run_at: "2026-02-30T00:00:00Z" }, "run_at"],
      [{ prompt: "a", priority: "low", urgency: "high" }, "urgency"],
    ];
    for (const path of ["/api/jobs", "/dispatch"]) {
      for (const [body, field] of wrong) {
        const answer = await world.post(path, body);
        expect([field, answer.status]).toEqual([field, 400]);
        expect(answer.body.errors[0].path).toBe(field);
        expect(answer.body.code).toBe("invalid_request");
      }
    }
    expect((await world.get("/api/jobs")).body.total).toBe(0);
  });

  it("may be as large as the contract says, and no larger", async () => {
    expect((await world.post("/api/jobs", { prompt: "x".repeat(256 * 1024) })).status).toBe(201);
    const big = JSON.stringify({ prompt: "a", input: "x".repeat(1024 * 1024) });
    const declared = await world.post("/api/jobs", undefined, {
      raw: big,
      headers: { "content-type": "application/json" },
    });
    expect([declared.status, declared.body.code]).toEqual([413, "payload_too_large"]);
    const chunk = new TextEncoder().encode("x".repeat(64 * 1024));
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        sent += 1;
        if (sent > 1000) controller.close();
        else controller.enqueue(chunk);
      },
    });
    const chunked = await world.post("/api/jobs", undefined, {
      raw: endless,
      headers: { "content-type": "application/json" },
    });
    expect(chunked.status).toBe(413);
    // The rest is read for a while, so that the client gets the answer, but not for ever.
    expect(sent).toBeLessThan(600);
    const exact = { prompt: "a", input: "" };
    exact.input = "x".repeat(1024 * 1024 - JSON.stringify(exact).length);
    expect((await world.post("/api/jobs", exact)).status).toBe(201);
  });

  it("name what a time without a zone lacks", async () => {
    const { status, body } = await world.post("/api/jobs", { prompt: "a", run_at: "2026-01-31T09:00:00" });
    expect([status, body.errors[0].path]).toEqual([400, "run_at"]);
    expect(body.errors[0].message).toContain("with its zone, as in 2026-01-31T09:00:00Z");
  });

  it("must be JSON in UTF-8, and say so", async () => {
    const send = (raw: BodyInit, type: string | null = "application/json") =>
      world.post("/api/jobs", undefined, { raw, headers: type === null ? {} : { "content-type": type } });
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]) {
      const { status, body } = await send('{"prompt":"a"}', type);
      expect([type, status, body.code]).toEqual([type, 415, "unsupported_media_type"]);
    }
    expect((await send(new Blob(['{"prompt":"a"}']).stream(), null)).status).toBe(415);
    const latin = await send('{"prompt":"a"}', "application/json; charset=latin1");
    expect([latin.status, latin.body.detail]).toEqual([415, expect.stringContaining("no other charset is accepted")]);
    for (const charset of ["utf-8", "UTF8", '"utf-8"', ' "UTF-8"; q=1'])
      expect([charset, (await send('{"prompt":"a"}', `application/json; charset=${charset}`)).status]).toEqual([
        charset,
        201,
      ]);
    expect((await send('{"prompt":"a"}', "Application/JSON")).status).toBe(201);
    for (const text of ["", "{", "{'a':1}", "[]", "null", "7", '"a"', '{"prompt":NaN}', '{"prompt":"a",}', "{} {}"]) {
      expect([text, (await send(text)).status]).toEqual([text, 400]);
    }
    expect((await send(new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d]))).status).toBe(400);
    expect((await send(`{"prompt":"a","input":${"[".repeat(100_000)}${"]".repeat(100_000)}}`)).status).toBe(400);
    const tooLarge = await send('{"prompt":"a","input":{"temperature":1e400}}');
    expect([tooLarge.status, tooLarge.body.detail]).toEqual([400, expect.stringContaining("larger than 1.8e308")]);
    expect((await send('{"prompt":"a","__proto__":{"prompt":"b"}}')).status).toBe(400);
    expect((await send('{"prompt":"a","constructor":1,"hasOwnProperty":1,"toString":1}')).status).toBe(400);
  });

  it("cost little to refuse: ten thousand wrong tags, fifty thousand unknown fields, a field name of half a megabyte", async () => {
    const tags = Array.from({ length: 10_000 }, (_, index) => `bad tag ${index}`);
    expect((await world.post("/api/jobs", { prompt: "a", tags })).body.errors.length).toBeLessThanOrEqual(20);
    const many = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`field${index}`, 1]));
    expect((await world.post("/api/jobs", { prompt: "a", ...many })).body.errors.length).toBeLessThanOrEqual(20);
    const { status, text } = await world.post("/api/jobs", { prompt: "a", ["x".repeat(500_000)]: 1 });
    expect(status).toBe(400);
    expect(text.length).toBeLessThan(2000);
  });

  it("are not unpacked, and say what to do instead", async () => {
    const packed = {
      raw: '{"prompt":"a"}',
      headers: { "content-type": "application/json", "content-encoding": "gzip" },
    };
    for (const path of ["/api/jobs", "/v1/chat/completions", "/api/files?name=a"]) {
      const { status, text } = await world.post(path, undefined, packed);
      expect([path, status]).toEqual([path, 415]);
      expect(text).toContain("not compressed (without Content-Encoding)");
    }
    const plain = { ...packed, headers: { ...packed.headers, "content-encoding": "identity" } };
    expect((await world.post("/api/jobs", undefined, plain)).status).toBe(201);
  });

  it("may hold any JSON as input, and give it back as it was", async () => {
    const input = JSON.parse(
      '{"__proto__":{"x":1},"constructor":[],"nul":"\\u0000","lone":"\\ud800","big":1e308,"é":"\u2028"}',
    );
    const { id } = await world.ok("POST", "/api/jobs", { prompt: "a\u2028\u202e", input });
    const { body } = await world.get(`/api/jobs/${id}`);
    expect(JSON.stringify(body.input)).toBe(JSON.stringify(input));
    const { jobs } = await world.ok("GET", "/api/jobs");
    expect(JSON.stringify(jobs[0].input)).toBe(JSON.stringify(input));
  });

  it("name no key `__proto__` where keys are free and read: it is refused by its path, not dropped", async () => {
    const job = '{"prompt":"a","metadata":{"team":"t","__proto__":"x"}}';
    const batch = '{"input_file_id":"file-a","endpoint":"/v1/embeddings","completion_window":"24h","metadata":';
    for (const [method, path, raw, at] of [
      ["POST", "/api/jobs", job, "metadata.__proto__"],
      ["POST", "/dispatch", job, "metadata.__proto__"],
      ["POST", "/api/jobs/batch", `{"jobs":[{"prompt":"a"},${job}]}`, "jobs.1.metadata.__proto__"],
      ["POST", "/api/jobs/bulk", '{"action":"cancel","filter":{"__proto__":"x"}}', "filter.__proto__"],
      ["POST", "/v1/batches", `${batch}{"__proto__":"x"}}`, "metadata.__proto__"],
      ["PUT", "/config", '{"providers":{"__proto__":{}}}', "providers.__proto__"],
      ["PUT", "/config", '{"providers":{"p":{"pricing":{"__proto__":{}}}}}', "providers.p.pricing.__proto__"],
      ["PUT", "/config", '{"front_door":{"aliases":{"__proto__":{"model":"m"}}}}', "front_door.aliases.__proto__"],
      ["GET", "/api/jobs?__proto__=x", undefined, "__proto__"],
    ] as const) {
      const { status, text } = await request(world.key, method, path, undefined, {
        ...(raw === undefined ? {} : { raw }),
        headers: { "content-type": "application/json" },
      });
      expect([path, status]).toEqual([path, 400]);
      expect(text).toContain(`${at}: is a reserved name: choose another`);
    }
  });

  it("may be left out where nothing is asked, whatever type an empty one claims", async () => {
    const { id } = await world.ok("POST", "/api/jobs", { prompt: "a" });
    const form = { headers: { "content-type": "application/x-www-form-urlencoded" }, raw: "" };
    expect((await world.post(`/api/jobs/${id}/cancel`, undefined, form)).status).toBe(200);
    expect((await world.post(`/api/jobs/${id}/cancel`, { now: true })).status).toBe(400);
  });
});

describe("query parameters that an endpoint does not have", () => {
  it("are refused by name, also where it has none at all", async () => {
    for (const path of ["/killswitch", "/config", "/api/keys", "/metrics", "/catalog/providers"]) {
      const { status, body } = await world.get(`${path}?limt=5`);
      expect([path, status, body.errors?.[0].path]).toEqual([path, 400, "limt"]);
    }
  });

  it("are ignored where no key is needed, or an AI client may add some", async () => {
    for (const path of ["/health", "/openapi.json", "/v1/models"])
      expect([path, (await world.get(`${path}?now=5&now=6`)).status]).toEqual([path, 200]);
  });
});

describe("lists", () => {
  it("take limit and offset in digits and within their bounds, each once, and nothing else", async () => {
    for (const query of [
      "limit=0",
      "limit=201",
      "limit=-1",
      "limit=1.5",
      "limit=1e1",
      "limit=0x10",
      "limit=",
      "limit=NaN",
      "limit=9007199254740993",
      "offset=",
      "offset=-1",
      "offset=10001",
      "limit=1&limit=2",
      "status=done",
      "since=yesterday",
      "limt=5",
      "worker=a%20b",
    ]) {
      const { status, body } = await world.get(`/api/jobs?${query}`);
      expect([query, status]).toEqual([query, 400]);
      expect(body.errors[0].path).toBe(query.split("=")[0]);
    }
    expect((await world.get("/api/jobs?limt=5")).body.detail).toContain('did you mean "limit"');
    for (const path of ["/api/jobs", "/api/workers", "/api/audit"]) {
      expect((await world.get(path)).body).toMatchObject({ limit: 50, offset: 0 });
      expect((await world.get(`${path}?limit=200&offset=10000`)).body).toMatchObject({ limit: 200, offset: 10_000 });
    }
  });
});
