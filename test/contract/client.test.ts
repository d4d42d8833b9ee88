// The typed client's requests as a server sees them: what it sends, what it retries, and how it treats each kind of
// answer.

import { describe, expect, it } from "vitest";
import { ApiProblem } from "../../contract/client/problem.ts";
import { type Client, createClient } from "../../contract/client.ts";

interface Seen {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | null;
}

type Answer = () => Response | Promise<Response>;

const json = (status: number, body: unknown, headers: Record<string, string> = {}): Answer => {
  const type = status < 400 ? "application/json" : "application/problem+json";
  return () => new Response(JSON.stringify(body), { status, headers: { "content-type": type, ...headers } });
};

const problem = (status: number, code: string, headers: Record<string, string> = {}): Answer =>
  json(
    status,
    { type: "about:blank", title: "No", status, detail: `because of ${code}`, instance: "r1", code },
    headers,
  );

const breaksOff: Answer = () => Promise.reject(new TypeError("fetch failed"));

/** A client of a service that gives these answers in turn, and then the last one for ever. */
type Given = { url?: string; key?: string; retries?: number; timeoutMs?: number };

const clientOf = (answers: readonly Answer[], options: Given = {}) => {
  const seen: Seen[] = [];
  const send = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    seen.push({
      url: String(input),
      method: init.method ?? "GET",
      headers: new Headers(init.headers),
      body: (init.body as string | undefined) ?? null,
    });
    return (answers[seen.length - 1] ?? answers.at(-1) ?? breaksOff)();
  };
  const retried: string[] = [];
  const onRetry = ({ code }: ApiProblem) => void retried.push(code);
  return { seen, retried, client: createClient({ url: "http://box:8787/", fetch: send, onRetry, ...options }) };
};

const refusal = async (work: Promise<unknown>): Promise<ApiProblem> => {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof ApiProblem) return error;
  throw new Error(`no problem but ${String(error)}`);
};

describe("a request of the client", () => {
  it("bears the key, encodes ids, leaves out what is not asked", async () => {
    const { seen, client } = clientOf([json(200, {})], { key: "sb_1" });
    await client.workers.pause("gpu/1 ä", { reason: "rest" });
    await client.jobs.list({ status: "failed", tag: null, q: "", limit: 5, "metadata.team": "" });
    expect(seen[0]).toMatchObject({
      url: "http://box:8787/api/workers/gpu%2F1%20%C3%A4/pause",
      method: "POST",
      body: '{"reason":"rest"}',
    });
    expect(seen[0]?.headers.get("authorization")).toBe("Bearer sb_1");
    expect(seen[1]?.url).toBe("http://box:8787/api/jobs?status=failed&limit=5&metadata.team=");
    expect(seen[1]?.body).toBeNull();
  });

  it.each(["sb_1\nsb_2", "ключ", "sb 1"])(
    "is not sent with what cannot be a key, and does not print it",
    async (key) => {
      const { seen, client } = clientOf([json(200, {})], { key });
      const refused = await refusal(client.killswitch.get());
      expect(refused).toMatchObject({ status: 0, code: "authentication_failed" });
      expect(refused.message).not.toContain(key);
      expect(seen).toHaveLength(0);
    },
  );

  it.each<[string, (client: Client) => Promise<unknown>]>([
    ["a job", (client) => client.jobs.create({ prompt: "hi" })],
    ["many jobs", (client) => client.jobs.createMany([{ prompt: "hi" }])],
    ["a schedule's run", (client) => client.schedules.run("nightly")],
    ["a bulk change", (client) => client.jobs.changeMany({ action: "retry", filter: {} })],
  ])("makes %s under one idempotency key, however often it is sent", async (_, make) => {
    const { seen, client } = clientOf([breaksOff, problem(503, "overloaded"), json(201, { id: "j1" })]);
    expect(await make(client)).toEqual({ id: "j1" });
    const keys = seen.map(({ headers }) => headers.get("idempotency-key"));
    expect(keys).toHaveLength(3);
    expect(keys[0]).toMatch(/^[\x21-\x7e]{16,}$/);
    expect(new Set(keys).size).toBe(1);
  });

  it("makes keys that sort in the order in which they are made", async () => {
    const { seen, client } = clientOf([json(201, { id: "j1" }), json(201, { id: "j2" })]);
    await client.jobs.create({ prompt: "hi" });
    await new Promise((resolve) => setTimeout(resolve, 2));
    await client.jobs.create({ prompt: "hi" });
    const keys = seen.map(({ headers }) => headers.get("idempotency-key"));
    expect(keys).toEqual(keys.toSorted());
    expect(Math.abs(Number.parseInt(keys[0]?.slice(0, 12) ?? "", 16) - Date.now())).toBeLessThan(60_000);
  });

  it("takes the caller's own idempotency key", async () => {
    const { seen, client } = clientOf([json(201, { id: "j1" })]);
    await client.jobs.dispatch({ prompt: "hi" }, { idempotencyKey: "mine", queue: true });
    expect(seen[0]?.headers.get("idempotency-key")).toBe("mine");
    expect(seen[0]?.url).toContain("/dispatch?queue=true");
  });
});

describe("what fails in passing", () => {
  it("waits as long as Retry-After says", async () => {
    const { seen, client } = clientOf([problem(429, "rate_limited", { "retry-after": "1" }), json(200, {})]);
    const startedAt = performance.now();
    await client.killswitch.get();
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(990);
    expect(seen).toHaveLength(2);
  });

  it.each(["tenant_unavailable", "history_backlog", "history_unavailable", "overloaded"])(
    "includes %s: a job is sent again under its key",
    async (code) => {
      const { seen, client } = clientOf([problem(503, code), json(201, { id: "j1" })]);
      await client.jobs.create({ prompt: "hi" });
      expect(new Set(seen.map(({ headers }) => headers.get("idempotency-key"))).size).toBe(1);
      expect(seen).toHaveLength(2);
    },
  );

  it("is told of each retry before its pause", async () => {
    const busy = () => problem(503, "history_unavailable", { "retry-after": "0" });
    const { seen, client, retried } = clientOf([busy(), busy(), json(200, {})]);
    await client.killswitch.get();
    expect([seen.length, retried]).toEqual([3, ["history_unavailable", "history_unavailable"]]);
  });

  it("is told at once where Retry-After asks for more than a minute", async () => {
    const { seen, client } = clientOf([problem(429, "rate_limited", { "retry-after": "3600" })]);
    expect(await refusal(client.killswitch.get())).toMatchObject({ code: "rate_limited", retryAfterSeconds: 3600 });
    expect(seen).toHaveLength(1);
  });

  it("is not repeated after a lost answer where doing it twice would hurt", async () => {
    const { seen, client } = clientOf([breaksOff]);
    expect(await refusal(client.keys.create({ name: "k", role: "worker" }))).toMatchObject({ code: "unreachable" });
    expect(await refusal(client.keys.rotate("k1"))).toMatchObject({ status: 0 });
    expect(seen).toHaveLength(2);
  });

  it("says of a lost answer that it may have been done, unless that is known or it can be sent again", async () => {
    const says = async (answers: Answer[], ask: (client: Client) => Promise<unknown>): Promise<string> =>
      (await refusal(ask(clientOf(answers, { retries: answers.length - 1 }).client))).message;
    const failing =
      (cause: Error): Answer =>
      () =>
        Promise.reject(new TypeError("fetch failed", { cause }));
    const refused = Object.assign(new Error("connect ECONNREFUSED ::1:8787"), { code: "ECONNREFUSED" });
    const refusedTwice = Object.assign(new AggregateError([refused, refused]), { code: "ECONNREFUSED" });
    const create = (client: Client) => client.keys.create({ name: "k", role: "worker" });
    const job = ({ jobs }: Client) => jobs.create({ prompt: "hi" });
    const keyedJob = ({ jobs }: Client) => jobs.create({ prompt: "hi" }, { idempotencyKey: "mine" });

    const mayBe = "It may have been done all the same: look before you try again.";
    expect(await says([breaksOff], create)).toContain(mayBe);
    expect(await says([breaksOff, failing(refused)], job)).toContain(mayBe);
    const isSure = /\(.*ECONNREFUSED.*\)\. Check that it runs and try again\./;
    for (const ask of [create, job])
      for (const cause of [refused, refusedTwice]) expect(await says([failing(cause)], ask)).toMatch(isSure);
    expect(await says([failing(refused), failing(refused)], job)).toMatch(isSure);
    const plain = failing(new Error("ssl3_get_record:wrong version number"));
    const { client } = clientOf([plain], { url: "https://box:8787", retries: 1 });
    expect((await refusal(job(client))).message).toContain("write http://). Check that it runs and try again.");
    for (const again of [keyedJob, ({ session }: Client) => session.signIn("k")])
      expect(await says([breaksOff], again)).toContain("Check that it runs and try again.");
  });

  it("is an answer that broke off, too", async () => {
    const cut = new ReadableStream({ start: (body) => body.error(new TypeError("terminated")) });
    const halfAnswer: Answer = () => new Response(cut, { headers: { "content-type": "application/json" } });
    const { seen, client } = clientOf([halfAnswer, json(201, { id: "j1" })]);
    expect(await client.jobs.create({ prompt: "hi" })).toEqual({ id: "j1" });
    expect(new Set(seen.map(({ headers }) => headers.get("idempotency-key"))).size).toBe(1);
    const once = clientOf([halfAnswer, json(200, {})]);
    expect(await refusal(once.client.jobs.cancel("j1"))).toMatchObject({ status: 0, code: "unreachable" });
    expect(once.seen).toHaveLength(1);
  });

  it("is repeated whatever it is, where the service says that it did nothing", async () => {
    const { seen, client } = clientOf([problem(503, "overloaded"), json(201, { key: "sb_2" })]);
    await client.keys.create({ name: "k", role: "worker" });
    expect(seen).toHaveLength(2);
  });

  it("ends after two further tries", async () => {
    const { seen, client } = clientOf([breaksOff]);
    const failed = await refusal(client.jobs.get("j1"));
    expect(failed.message).toContain("http://box:8787");
    expect(seen).toHaveLength(3);
  });

  it.each(["killswitch_active", "no_eligible_workers", "budget_reached"])(
    "is not what %s is: that is the answer",
    async (code) => {
      const { seen, client } = clientOf([problem(503, code, { "retry-after": "1" })]);
      expect(await refusal(client.jobs.dispatch({ prompt: "hi" }))).toMatchObject({ code, status: 503 });
      expect(seen).toHaveLength(1);
    },
  );
});

describe("a client", () => {
  it.each([
    "http://box:8787/",
    " http://box:8787",
    "http://box:8787/#/jobs?status=failed",
    "http://box:8787/?tenant=acme",
  ])("takes the address as it was copied: %s", async (url) => {
    const { seen, client } = clientOf([json(200, { killswitch: {} })], { url });
    await client.killswitch.get();
    expect(seen.map((one) => one.url)).toEqual(["http://box:8787/killswitch"]);
  });

  it.each(["box:8787", "localhost", "ftp://box", "http://"])("is not made for the address %s", (url) => {
    expect(() => createClient({ url })).toThrow(`url "${url}" is not an address: it must start with http`);
  });
});

describe("an answer that is no success", () => {
  it("is a problem with its code, its words and the request's id", async () => {
    const { client } = clientOf([problem(409, "job_completed")]);
    const failed = await refusal(client.jobs.cancel("j1"));
    expect(failed).toMatchObject({ status: 409, code: "job_completed", requestId: "r1", title: "No" });
    expect(failed.message).toBe("because of job_completed");
  });

  it("of another server says so", async () => {
    const html = () => new Response("<html>", { status: 200, headers: { "content-type": "text/html" } });
    expect(await refusal(clientOf([html]).client.jobs.get("j1"))).toMatchObject({ code: "unexpected_answer" });
    for (const other of ["{bad", "null", "1"]) {
      const between = () => new Response(other, { status: 200, headers: { "content-type": "application/json" } });
      expect(await refusal(clientOf([between]).client.jobs.get("j1"))).toMatchObject({
        code: "unexpected_answer",
        message: expect.stringContaining("was answered with application/json that is no object: "),
      });
    }
    const missing = () => new Response("nothing here", { status: 404, statusText: "Not Found" });
    expect(await refusal(clientOf([missing]).client.jobs.get("j1"))).toMatchObject({ status: 404, title: "Not Found" });
  });

  it.each([
    ["null", {}],
    ['{"error": null}', {}],
    ['{"error": "no"}', {}],
    ['{"errors": {}, "workers": 3, "detail": {}}', {}],
    ['{"error": {"message": "not you", "type": "permission_error"}}', { message: "not you", code: "permission_error" }],
  ])("of a server between whose body is %s keeps its status", async (body, more) => {
    const between = () =>
      new Response(body, { status: 403, statusText: "Forbidden", headers: { "content-type": "application/json" } });
    const { client, seen } = clientOf([between]);
    expect(await refusal(client.jobs.get("j1"))).toMatchObject({
      status: 403,
      title: "Forbidden",
      message: "Forbidden",
      code: "unexpected_answer",
      errors: [],
      workers: [],
      ...more,
    });
    expect(seen).toHaveLength(1);
  });

  it("is not followed elsewhere with the key", async () => {
    const away = () => new Response(null, { status: 301, headers: { location: "https://box/" } });
    const { seen, client } = clientOf([away], { key: "sb_1" });
    const failed = await refusal(client.jobs.get("j1"));
    expect([failed.code, failed.message, seen.length]).toEqual([
      "redirected",
      "The address redirects to https://box/: use that address.",
      1,
    ]);
  });

  it("that never comes ends in a timeout", async () => {
    const never = (): Promise<Response> => new Promise(() => undefined);
    const hanging = (_input: unknown, init: RequestInit = {}) =>
      Promise.race([
        never(),
        new Promise<Response>((_, reject) =>
          init.signal?.addEventListener("abort", () => reject(init.signal?.reason as Error)),
        ),
      ]);
    const client = createClient({ url: "http://box", fetch: hanging as typeof fetch, retries: 0, timeoutMs: 30 });
    const late = { code: "timeout", message: "No answer within 0.03 s." };
    expect(await refusal(client.jobs.get("j1"))).toMatchObject(late);
    expect((await refusal(client.keys.rotate("k1"))).message).toContain("It may have been done all the same");
  });
});

describe("a caller who leaves", () => {
  it("ends a request, and the pause between two", async () => {
    const leave = new AbortController();
    const { seen, client } = clientOf([problem(429, "rate_limited", { "retry-after": "30" })]);
    const asked = client.killswitch.get({ signal: leave.signal });
    setTimeout(() => leave.abort(), 20);
    await expect(asked).rejects.toMatchObject({ name: "AbortError" });
    expect(seen).toHaveLength(1);
  });
});

describe("a list", () => {
  const page = (ids: string[], more: object = {}) => json(200, { jobs: ids.map((id) => ({ id })), total: 3, ...more });

  it("is its first page when awaited", async () => {
    const { client } = clientOf([page(["a", "b"])]);
    expect((await client.jobs.list()).total).toBe(3);
  });

  it("is every item of every page when iterated, by cursor where there is one", async () => {
    const { seen, client } = clientOf([page(["a", "b"], { next_cursor: "c2" }), page(["c"], { next_cursor: null })]);
    const ids: string[] = [];
    for await (const { id } of client.jobs.list({ status: "failed", offset: 0 })) ids.push(id);
    expect(ids).toEqual(["a", "b", "c"]);
    expect(seen[1]?.url).toBe("http://box:8787/api/jobs?status=failed&cursor=c2");
  });

  it("goes by offset where there is no cursor, and stops at the total", async () => {
    const { seen, client } = clientOf([page(["a", "b"]), page(["c"])]);
    const ids: string[] = [];
    for await (const { id } of client.jobs.list({ limit: 2 })) ids.push(id);
    expect(ids).toEqual(["a", "b", "c"]);
    expect(seen.map(({ url }) => url.split("?")[1])).toEqual(["limit=2", "limit=2&offset=2"]);
  });

  it("leaves nothing out where what was read is deleted meanwhile", async () => {
    const left = ["a", "b", "c", "d", "e"];
    const client = createClient({
      url: "http://box",
      fetch: async (url) => {
        const [, offset = 0] = /offset=(\d+)/.exec(`${url}`) ?? [];
        const schedules = left.slice(+offset, +offset + 2).map((name) => ({ name }));
        return Response.json({ schedules, total: left.length });
      },
    });
    for await (const { name } of client.schedules.list({ limit: 2 })) left.splice(left.indexOf(name), 1);
    expect(left).toEqual([]);
  });
});
