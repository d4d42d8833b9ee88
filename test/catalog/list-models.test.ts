import { describe, expect, it } from "vitest";
import type { ProviderDefinition } from "../../domain/catalog/catalog.ts";
import { LIST_BUDGET, type Listing, listModels } from "../../src/catalog/list-models.ts";
import { ACME_KEY, type Answer, acme, fakeProvider, flood, json, modelRows, unending } from "./fake-provider.ts";

const paged: ProviderDefinition = {
  ...acme,
  pagination: { cursor_path: "last_id", cursor_param: "after_id", more_path: "has_more" },
};

async function list(
  answer: Answer,
  config: ProviderDefinition = acme,
  syncUrl: string | null = null,
  budget = LIST_BUDGET,
) {
  const provider = fakeProvider(answer);
  const listing = await listModels(provider.connector, config, syncUrl, budget);
  expect(JSON.stringify(listing), "no key ever comes out").not.toContain(ACME_KEY);
  return { listing, requests: provider.requests };
}

const idsOf = (listing: Listing): string[] => (listing.ok ? [...listing.models.keys()] : []);
const detailOf = (listing: Listing): string => (listing.ok ? "" : listing.failure.detail);

/** The question mark as a byte that is not valid UTF-8. */
const invalidMark = (character: string) => (character === "?" ? 0xff : character.charCodeAt(0));

describe("a list", () => {
  it("is asked for with the provider's key and headers", async () => {
    const { listing, requests } = await list(() => json(modelRows("a", "b")));
    expect(idsOf(listing)).toEqual(["a", "b"]);
    expect(requests[0]?.headers.get("authorization")).toBe(`Bearer ${ACME_KEY}`);
    expect(requests[0]?.headers.get("acme-version")).toBe("7");
    expect(requests[0]?.redirect).toBe("manual");
  });

  it("may be truly empty", async () => {
    expect((await list(() => json({ data: [] }))).listing).toEqual({ ok: true, models: new Map() });
    expect((await list(() => json({ data: null }))).listing).toEqual({ ok: true, models: new Map() });
  });

  it("drops bad rows and duplicates, and keeps the first of each", async () => {
    const rows = [{ id: "a", name: "first" }, null, { id: "a", name: "second" }, { id: "" }, 7, { id: "b" }];
    const { listing } = await list(() => json({ data: rows }));
    expect(listing.ok && [...listing.models.values()]).toEqual([
      { id: "a", name: "first" },
      { id: "b", name: "b" },
    ]);
  });

  it("may begin with a byte order mark", async () => {
    expect(idsOf((await list(() => new Response(`\ufeff${JSON.stringify(modelRows("a"))}`))).listing)).toEqual(["a"]);
  });
});

describe("a list in pages", () => {
  const pages: Answer = (request) => {
    const after = new URL(request.url).searchParams.get("after_id");
    if (after === null) return json({ ...modelRows("a", "b"), has_more: true, last_id: "b" });
    if (after === "b") return json({ ...modelRows("b", "c"), has_more: true, last_id: "c" });
    return json({ ...modelRows("d"), has_more: false, last_id: "d" });
  };

  it("is followed to its end, the key on every page", async () => {
    const { listing, requests } = await list(pages, { ...paged, list_url: `${acme.list_url}?limit=2` });
    expect(idsOf(listing)).toEqual(["a", "b", "c", "d"]);
    expect(requests.map((request) => new URL(request.url).search)).toEqual([
      "?limit=2",
      "?limit=2&after_id=b",
      "?limit=2&after_id=c",
    ]);
    expect(requests.every((request) => request.headers.get("authorization") === `Bearer ${ACME_KEY}`)).toBe(true);
  });

  it("fails as a whole when one page fails", async () => {
    const { listing } = await list(
      (request) => (request.url.includes("after_id=c") ? json({}, 500) : pages(request)),
      paged,
    );
    expect(detailOf(listing)).toBe("the provider answered 500");
  });

  it("fails when the provider's file cannot follow them", async () => {
    expect(detailOf((await list(pages)).listing)).toContain("no pagination key");
  });

  it("fails when the pages form a loop", async () => {
    const { listing, requests } = await list(() => json({ ...modelRows("a"), has_more: true, last_id: "a" }), paged);
    expect(detailOf(listing)).toContain("form a loop");
    expect(requests.length).toBe(2);
  });

  it("fails when they never end", async () => {
    let page = 0;
    const endless: Answer = () => json({ ...modelRows(`m${++page}`), has_more: true, last_id: `m${page}` });
    const { listing, requests } = await list(endless, paged);
    expect(detailOf(listing)).toContain("more than 50 pages");
    expect(requests.length).toBe(LIST_BUDGET.maxPages);
  });

  it("shares one budget of bytes and rows among them", async () => {
    const tight = { ...LIST_BUDGET, maxBytes: 150 };
    expect(detailOf((await list(pages, paged, null, tight)).listing)).toMatch(/larger than \d+ bytes/);
    expect(detailOf((await list(pages, paged, null, { ...LIST_BUDGET, maxRows: 4 })).listing)).toContain(
      "more than 4 models",
    );
  });
});

describe("an answer that is no list", () => {
  it.each<[string, Response]>([
    ["an error inside a 200", json({ error: { message: "bad key" } })],
    ["an error beside an empty list", json({ data: [], error: "quota" })],
    ["an error wrapped in an array", json([{ error: { code: 400 } }])],
    ["another shape", json({ models: [{ id: "a" }] })],
    ["an object where the list should be", json({ data: { a: 1 } })],
    ["rows that name nothing", json({ data: [{ model: "a" }, { model: "b" }] })],
    ["a web page", new Response("<html>Sign in</html>", { headers: { "content-type": "text/html" } })],
    ["nothing", new Response(null)],
    ["half a document", new Response('{"data":[{"id":"a"}')],
    ["bytes that are no UTF-8", new Response(new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]))],
    ["a list with bytes that are no UTF-8", new Response(Uint8Array.from('{"data":[{"id":"a?"}]}', invalidMark))],
    ["brackets without end", new Response("[".repeat(500_000))],
    ["a key of its own called __proto__", new Response('{"__proto__":{"data":[{"id":"a"}]}}')],
  ])("%s fails, and can be tried again", async (_name, response) => {
    const { listing } = await list(() => response);
    expect(listing).toMatchObject({ ok: false, failure: { isRetryable: true } });
  });

  it("with more models than anyone has fails", async () => {
    const many = modelRows(...Array.from({ length: LIST_BUDGET.maxRows + 1 }, (_, index) => `m${index}`));
    expect(detailOf((await list(() => json(many))).listing)).toContain("more than 5000 models");
  });

  it("that floods is cut off at the budget", async () => {
    const { response, pieceCount } = flood(" ".repeat(64 * 1024));
    expect(detailOf((await list(() => response)).listing)).toContain("larger than 5242880 bytes");
    expect(pieceCount()).toBeLessThan(90);
  });

  it("that drips without end is given up, and its connection with it", async () => {
    const { response, isCancelled } = unending('{"data":[');
    const { listing } = await list(() => response, acme, null, { ...LIST_BUDGET, timeoutMs: 30 });
    expect(detailOf(listing)).toBe("the answer took too long");
    expect(isCancelled()).toBe(true);
  });

  it("that never comes is given up", async () => {
    const silence: Answer = () => new Promise<Response>(() => {});
    const { listing } = await list(silence, acme, null, { ...LIST_BUDGET, timeoutMs: 30 });
    expect(detailOf(listing)).toBe("https://api.acme.example/v1/models did not answer in time");
  });

  it("that breaks off fails", async () => {
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error("reset")) });
    expect(detailOf((await list(() => new Response(body))).listing)).toContain("ended too early");
  });
});

describe("a provider's refusal", () => {
  it.each([
    [400, "may not accept the key of provider:acme", false],
    [401, "may not accept the key of provider:acme", false],
    [402, "no credit", false],
    [403, "may not accept the key of provider:acme", false],
    [404, "no model list at this address", false],
    [408, "answered 408", true],
    [425, "answered 425", true],
    [429, "too many requests", true],
    [500, "answered 500", true],
    [503, "answered 503", true],
  ])("with %i says %s", async (status, words, isRetryable) => {
    const { listing } = await list(() => json({ error: { message: `key ${ACME_KEY} is wrong` } }, status));
    expect(detailOf(listing)).toContain(words);
    expect(!listing.ok && listing.failure.isRetryable).toBe(isRetryable);
  });

  it.each([
    ["7", 7_000],
    ["1.5", 1_500],
    ["999999999", 86_400_000],
    ["1000000000000", 86_400_000],
    ["soon", 0],
    ["-5", 0],
  ])("with Retry-After %s asks for %i ms", async (value, expected) => {
    const { listing } = await list(() => json({}, 429, { "retry-after": value }));
    expect(!listing.ok && listing.failure.retryAfterMs).toBe(expected);
  });

  it.each([301, 302, 303, 307, 308])("by a redirect (%i) to another host ends there", async (status) => {
    const { listing, requests } = await list(
      () => new Response(null, { status, headers: { location: "https://evil.example/models" } }),
    );
    expect(detailOf(listing)).toContain("redirects are not followed");
    expect(requests.map((request) => new URL(request.url).host)).toEqual(["api.acme.example"]);
  });

  it("that repeats the key is not read on", async () => {
    const { listing } = await list(() => json(modelRows("a", ACME_KEY)));
    expect(detailOf(listing)).toBe("the answer repeats the provider's key");
  });

  it("before the network does not tell the address's secrets", async () => {
    const config = { ...acme, auth: { header: "query:key", ref: "provider:acme" } };
    const { listing } = await list((request) => {
      throw new Error(`connect failed: ${request.url}`);
    }, config);
    expect(detailOf(listing)).toBe("https://api.acme.example/v1/models could not be reached");
  });
});

describe("models_sync_url", () => {
  const rows: Answer = () => json(modelRows("a"));

  it("on another host is fetched without key and without extra headers", async () => {
    const { listing, requests } = await list(rows, acme, "https://mirror.example/models?page=1");
    expect(listing.ok).toBe(true);
    expect(requests[0]?.url).toBe("https://mirror.example/models?page=1");
    expect([...(requests[0]?.headers ?? [])]).toEqual([["accept", "application/json"]]);
  });

  it("on one of the provider's own hosts is fetched with the key", async () => {
    const config = { ...acme, key_hosts: ["eu.acme.example"] };
    const { requests } = await list(rows, config, "https://eu.acme.example/models");
    expect(requests[0]?.headers.get("authorization")).toBe(`Bearer ${ACME_KEY}`);
  });

  it.each([
    "http://api.acme.example/",
    "https://127.0.0.1/",
    "https://metadata.google.internal/",
    "https://u:p@x.example/",
  ])("%s is refused at the fetch too, however it came into the database", async (url) => {
    const { listing, requests } = await list(rows, acme, url);
    expect(listing.ok).toBe(false);
    expect(requests).toEqual([]);
  });

  it("that wants a key which is not sent says why", async () => {
    const { listing } = await list(() => json({}, 401), acme, "https://mirror.example/models");
    expect(detailOf(listing)).toContain("does not list this host in key_hosts");
  });
});

describe("a missing key", () => {
  it("fails a hosted provider before anything is sent, and says what to set", async () => {
    const provider = fakeProvider(() => json(modelRows("a")), {});
    const listing = await listModels(provider.connector, acme, null);
    expect(detailOf(listing)).toBe("no key for provider:acme: set PROVIDER_ACME_KEY");
    expect(provider.requests).toEqual([]);
  });

  it("does not matter to a local runtime", async () => {
    const provider = fakeProvider(() => json(modelRows("a")), {});
    const config = { ...acme, local: true, list_url: "http://127.0.0.1:8000/v1/models" };
    expect(idsOf(await listModels(provider.connector, config, null))).toEqual(["a"]);
    expect(provider.requests[0]?.headers.has("authorization")).toBe(false);
  });
});
