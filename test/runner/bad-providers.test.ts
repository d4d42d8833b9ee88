// What a hosted provider can do wrong: nothing of it passes for an answer, costs nothing silently, or shows a key.

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { send } from "../support/requests.ts";
import { folderForAllTests } from "../support/temporary-folder.ts";
import type { Behaviour, MockRequest } from "../worker/runtimes/mock-runtime.ts";
import { type Hosted, KEY, startHosted } from "./hosted.ts";

const HELLO = [{ role: "user", content: "say hello to all" }];
const ONCE = { jobs: { max_attempts: 1 } };

const data = folderForAllTests();
let hosted: Hosted;

beforeAll(async () => {
  hosted = await startHosted(data.path);
  await hosted.api("PUT", "/api/provider-keys/acme", { key: KEY });
}, 120_000);

afterEach(async () => {
  hosted.acme.behave = () => undefined;
  hosted.claudia.behave = () => undefined;
  await hosted.api("PUT", "/api/provider-keys/acme", { key: KEY });
  await eventually(async () => expect((await hosted.worker("edge-acme-0")).unavailable).toBe(null));
});

afterAll(() => hosted?.stop());

const via = () => ({ url: hosted.server.url, key: hosted.server.adminKey });
const ask = (body: object, headers: Record<string, string> = {}) =>
  send(via(), "POST", "/v1/chat/completions", { messages: HELLO, ...body }, { headers });

/** The answer as a stream's text, and its job. */
const stream = async (body: object = {}) => {
  const response = await fetch(`${hosted.server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${hosted.server.adminKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "m2", messages: HELLO, stream: true, ...body }),
  });
  return { text: await response.text(), job: response.headers.get("x-signalbox-job") ?? "" };
};

const attemptsOf = async (job: string) => (await hosted.api("GET", `/api/jobs/${job}/attempts`)).attempts;
const makeJob = async (more: object = {}) =>
  (await hosted.api("POST", "/api/jobs", { prompt: "x", provider: "acme", model: "m2", ...more })).id;
const endOf = (id: string) => hosted.api("GET", `/api/jobs/${id}?wait=20`);

/** So behaves the provider for the first call, and well afterwards. */
const firstCall = (behaviour: Behaviour) => {
  let isFirst = true;
  return (_: MockRequest): Behaviour | undefined => {
    const said = isFirst ? behaviour : undefined;
    isFirst = false;
    return said;
  };
};

describe("a provider that refuses", () => {
  test("the key makes its worker unavailable in its own words", async () => {
    await hosted.enable({}, ONCE);
    hosted.acme.behave = () => ({
      status: 401,
      errorBody: { error: { message: "bad key sk-acme-01234***, go away" } },
    });
    const refused = await ask({ model: "m2" });
    expect([refused.status, refused.body.error.code]).toEqual([502, "provider_refused"]);
    expect((await hosted.worker("edge-acme-0")).unavailable).toBe("acme refused the key: bad key [key], go away");
  });

  test("and quotes the key keeps its other words", async () => {
    await hosted.enable({}, ONCE);
    hosted.acme.behave = () => ({ status: 401, errorBody: { error: { message: `bad key ${KEY}, go away` } } });
    await ask({ model: "m2" });
    expect((await hosted.worker("edge-acme-0")).unavailable).toBe("acme refused the key: bad key [key], go away");
  });

  test("the key fails no job that another worker can take", async () => {
    await hosted.enable({ models: ["m2"] }, { jobs: { max_attempts: 1 } });
    hosted.acme.behave = () => ({ status: 401, errorBody: { error: { message: "go away" } } });
    hosted.claudia.behave = () => ({ words: ["I can"] });
    const ids = await Promise.all(Array.from({ length: 6 }, () => makeJob({ provider: undefined })));
    for (const id of ids) expect(await endOf(id)).toMatchObject({ status: "completed", ran_provider: "claudia" });
    expect(hosted.acme.calls.length).toBeGreaterThan(0);
  });

  test("a prompt for what it says refuses the request alone", async () => {
    await hosted.enable({}, ONCE);
    hosted.acme.behave = () => ({ status: 403, errorBody: { error: "Content violates usage guidelines." } });
    const refused = await ask({ model: "m2" });
    expect([refused.status, refused.body.error.message]).toEqual([400, "Content violates usage guidelines."]);
    expect((await hosted.worker("edge-acme-0")).unavailable).toBe(null);
  });

  test("for want of money does the same, and says so", async () => {
    await hosted.enable({}, ONCE);
    hosted.acme.behave = () => ({ status: 402, errorBody: { error: { message: "pay first" } } });
    const refused = await ask({ model: "m2" });
    expect([refused.status, refused.body.error.code]).toEqual([402, "insufficient_quota"]);
    expect((await hosted.worker("edge-acme-0")).unavailable).toBe("acme has no credit left: pay first");
  });
});

describe("a provider with a rate limit", () => {
  const limited = (headers: Record<string, string>) => ({
    status: 429,
    headers,
    errorBody: { error: { message: "slow down" } },
  });

  test.each([
    ["says when to come again, and the client hears it", { "retry-after": "2" }, 2],
    ["does not say when, and the client comes again soon", {}, 1],
  ])("%s", async (_, headers, seconds) => {
    await hosted.enable({}, ONCE, { rate_limit: { max_retries: 0, retry_after_seconds: 1 } });
    hosted.acme.behave = () => limited(headers);
    const answer = await ask({ model: "m2" });
    expect([answer.status, answer.body.error.message]).toEqual([429, "slow down"]);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThanOrEqual(seconds);
  });

  test("gets an ordinary job again after its wait, which costs no attempt", async () => {
    await hosted.enable({}, ONCE, { rate_limit: { max_retries: 2, retry_after_seconds: 1 } });
    hosted.acme.behave = firstCall(limited({ "retry-after": "1" }));
    const job = await endOf(await makeJob());
    expect(job).toMatchObject({ status: "completed", attempts: 1, ran_provider: "acme" });
    expect((await attemptsOf(job.id)).map(({ outcome }: { outcome: string }) => outcome)).toEqual([
      "rate_limited",
      "completed",
    ]);
  });
});

describe("a provider that hangs before its headers", () => {
  test("is left when the job's time is over, and its connection is closed", async () => {
    await hosted.enable({}, ONCE);
    hosted.acme.behave = () => ({ headersAfterMs: 60_000 });
    const job = await endOf(await makeJob({ timeout_seconds: 1 }));
    expect(job).toMatchObject({ status: "failed", error: { code: "timeout" } });
    await hosted.acme.until(() => hosted.acme.asked.at(-1)?.isAborted === true);
  });

  test("does not hold up the calls beside it", async () => {
    await hosted.enable({}, ONCE);
    hosted.acme.behave = ({ body }) => (body?.model === "m1" ? { headersAfterMs: 60_000 } : undefined);
    const hanging = await Promise.all(Array.from({ length: 5 }, () => makeJob({ model: "m1" })));
    expect((await ask({ model: "m2" })).status).toBe(200);
    for (const id of hanging) await hosted.api("POST", `/api/jobs/${id}/cancel`);
  });
});

describe("a provider's answer that", () => {
  test.each([
    ["is a page", { status: 200, headers: { "content-type": "text/html" }, errorBody: "<html>hello</html>" }, 502],
    ["is a page that claims to be JSON", { status: 200, errorBody: "<html>hello</html>" }, 502],
    ["redirects", { status: 307, headers: { location: "http://127.0.0.1:1/" }, errorBody: "" }, 502],
    ["is 200 with an error inside", { status: 200, errorBody: { error: { message: "no", type: "api_error" } } }, 502],
    [
      "is 200 with a list of one error inside",
      { status: 200, errorBody: [{ error: { code: 500, message: "no" } }] },
      502,
    ],
    ["is gzip that is none", { status: 200, headers: { "content-encoding": "gzip" }, errorBody: "none" }, 502],
    ["is empty", { status: 200, errorBody: "" }, 502],
  ])("%s fails the request", async (_, behaviour, status) => {
    await hosted.enable({}, ONCE);
    hosted.acme.behave = () => behaviour;
    const answered = await ask({ model: "m2" });
    expect([answered.status, answered.body.error?.message ?? ""]).toEqual([status, expect.stringMatching(/\w/)]);
  });

  test("is a page again and again is asked for twice, and no more", async () => {
    await hosted.enable({}, { jobs: { retry: { backoff_seconds: 0 } } });
    hosted.acme.behave = () => ({ status: 200, errorBody: "<html>hello</html>" });
    const before = hosted.acme.calls.length;
    expect((await ask({ model: "m2" })).status).toBe(502);
    expect(hosted.acme.calls.length - before).toBe(2);
  });

  test("ends again and again before its beginning is asked for twice, and no more", async () => {
    await hosted.enable({}, { jobs: { retry: { backoff_seconds: 0 } } });
    hosted.acme.behave = () => ({ cutAfter: 0 });
    const before = hosted.acme.calls.length;
    const { status } = await ask({ model: "m2" });
    expect([status, hosted.acme.calls.length - before]).toEqual([502, 2]);
  });

  test("breaks off in the middle of a stream ends it with an error, and what was said is counted", async () => {
    await hosted.enable({}, ONCE);
    hosted.acme.behave = () => ({ words: ["one", "two", "three"], cutAfter: 2, delayMs: 50 });
    const { text, job } = await stream();
    expect(text).toContain("one");
    expect(text).toContain('"error"');
    const [attempt] = await attemptsOf(job);
    expect(attempt.usage.output_tokens).toBeGreaterThan(0);
  });

  test("breaks off before the client has anything is tried again", async () => {
    await hosted.enable({}, { jobs: { max_attempts: 2, retry: { backoff_seconds: 1 } } });
    hosted.acme.behave = firstCall({ words: ["one", "two", "three"], cutAfter: 2 });
    const { status, body } = await ask({ model: "m2" });
    expect([status, body.choices?.[0].message.content]).toEqual([200, "say hello to all"]);
  });

  test("nests too deep for any message is answered as it is", async () => {
    await hosted.enable({}, ONCE);
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    hosted.acme.behave = () => ({ status: 200, errorBody: `{"choices": [{ "message": {} }], "deep": ${deep}}` });
    const { status, body } = await ask({ model: "m2" });
    let [levels, inner] = [0, body.deep];
    for (; inner !== undefined; inner = inner[0]) levels += 1;
    expect([status, levels]).toEqual([200, 100_000]);
  });

  test.each([
    ["less than nothing", { input: -5, output: -100 }],
    ["more than there can be", { input: 1e308, output: 1e300 }],
    ["text", { input: "7", output: "2" }],
  ])("counts %s is estimated, and not free", async (_, usage) => {
    await hosted.enable({}, ONCE);
    hosted.acme.behave = () => ({ usage: usage as never });
    const { job } = await stream();
    const { usage: counted } = await endOf(job);
    expect([counted?.input_tokens > 0, counted?.output_tokens > 0]).toEqual([true, true]);
  });

  test("never ends is stopped, and holds up nothing", async () => {
    await hosted.enable({}, ONCE);
    hosted.acme.behave = () => ({ words: ["x".repeat(64 * 1024)], floods: true });
    const { status, body } = await ask({ model: "m2" });
    expect([status, body.error?.code]).toEqual([500, "result_too_large"]);
    await hosted.acme.until(() => hosted.acme.asked.at(-1)?.isAborted === true);
    const word = "y".repeat(100_000);
    hosted.acme.behave = () => ({ words: new Array(12).fill(word) });
    expect((await ask({ model: "m2" })).body.choices[0].message.content.split(word).length).toBe(13);
    expect((await stream()).text.split(word).length).toBe(13);
  });
});
