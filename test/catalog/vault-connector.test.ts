import { describe, expect, it } from "vitest";
import { MISSING_SECRET_CACHE_MS, SECRET_CACHE_MS, vaultConnector } from "../../src/catalog/vault/connector.ts";
import { environmentSecrets } from "../../src/catalog/vault/environment.ts";
import { openSecrets } from "../../src/catalog/vault/open.ts";
import { type SecretReading, type SecretSource, variableName } from "../../src/catalog/vault/secret-source.ts";
import { secretsStoreSecrets } from "../../src/catalog/vault/secrets-store.ts";

const SECRET = "sk+live/0123456789==";
const hosts = ["api.acme.example"];
const bearer = { header: "bearer", ref: "provider:acme" };

function setUp(options: { read?: () => Promise<SecretReading>; answer?: (request: Request) => Response } = {}) {
  const requests: Request[] = [];
  const clock = { now: 0 };
  let readCount = 0;
  const source: SecretSource = {
    read: async () => {
      readCount++;
      return options.read === undefined ? { kind: "found", secret: SECRET } : options.read();
    },
  };
  const fetch = async (request: Request) => {
    requests.push(request);
    return options.answer?.(request) ?? new Response("{}");
  };
  const connector = vaultConnector({ source, fetch, now: () => clock.now });
  return { connector, requests, clock, reads: () => readCount };
}

const get = (url = "https://api.acme.example/v1/models") => new Request(url);

describe("the vault connector", () => {
  it.each([
    ["bearer", "authorization", `Bearer ${SECRET}`],
    ["x-api-key", "x-api-key", SECRET],
  ])("puts the key where auth.header %s says", async (header, name, value) => {
    const { connector, requests } = setUp();
    const outcome = await connector.fetch(get(), { header, ref: "provider:acme" }, hosts);
    expect(outcome).toMatchObject({ ok: true, isKeyed: true });
    expect(requests[0]?.headers.get(name)).toBe(value);
  });

  it("puts a query key beside what the address already asks", async () => {
    const { connector, requests } = setUp();
    const auth = { header: "query:key", ref: "provider:acme" };
    await connector.fetch(get("https://api.acme.example/v1/models?pageSize=1000"), auth, hosts);
    const url = new URL(requests[0]?.url ?? "");
    expect([...url.searchParams]).toEqual([
      ["pageSize", "1000"],
      ["key", SECRET],
    ]);
  });

  it("carries a worker's request through: method, body and headers", async () => {
    const { connector, requests } = setUp();
    const request = new Request("https://api.acme.example/v1/chat", {
      method: "POST",
      body: '{"prompt":"hi"}',
      headers: { "content-type": "application/json" },
    });
    await connector.fetch(request, bearer, hosts);
    expect(requests[0]?.method).toBe("POST");
    expect(await requests[0]?.text()).toBe('{"prompt":"hi"}');
    expect(requests[0]?.headers.get("content-type")).toBe("application/json");
  });

  it.each([
    "https://evil.example/",
    "https://api.acme.example:8443/",
    "https://api.acme.example.evil.example/",
    "https://sub.api.acme.example/",
  ])("sends %s no key, and does not even read one", async (url) => {
    const { connector, requests, reads } = setUp();
    expect(await connector.fetch(get(url), bearer, hosts)).toMatchObject({ ok: true, isKeyed: false });
    expect(JSON.stringify([...(requests[0]?.headers ?? [])]) + requests[0]?.url).not.toContain("sk+live");
    expect(reads()).toBe(0);
  });

  it("gives a key only to the hosts that the vault keeps beside it", async () => {
    const read = async (): Promise<SecretReading> => ({ kind: "found", secret: SECRET, hosts: ["eu.acme.example"] });
    const { connector, requests } = setUp({ read });
    const allowed = ["api.acme.example", "eu.acme.example"];
    expect(await connector.fetch(get(), bearer, allowed)).toMatchObject({ ok: false, code: "secret_refused" });
    expect(await connector.fetch(get("https://eu.acme.example/"), bearer, allowed)).toMatchObject({ isKeyed: true });
    expect(requests).toHaveLength(1);
  });

  it("never follows a redirect, whatever the request asked for", async () => {
    const { connector, requests } = setUp();
    await connector.fetch(new Request("https://api.acme.example/", { redirect: "follow" }), bearer, hosts);
    expect(requests[0]?.redirect).toBe("manual");
  });

  it.each([
    ["bearer", SECRET],
    ["query:key", SECRET],
    ["query:key", encodeURIComponent(SECRET)],
  ])("tells nothing of the key when the network fails (%s)", async (header) => {
    const answer = (request: Request): Response => {
      throw new Error(`failed: ${request.url} ${request.headers.get("authorization")}`);
    };
    const { connector } = setUp({ answer });
    const outcome = await connector.fetch(get(), { header, ref: "provider:acme" }, hosts);
    expect(outcome).toEqual({
      ok: false,
      code: "network",
      detail: "https://api.acme.example/v1/models could not be reached",
    });
  });

  it("recognises its key in an answer, plain or encoded", async () => {
    const { connector } = setUp();
    const outcome = await connector.fetch(get(), bearer, hosts);
    if (!outcome.ok) throw new Error(outcome.detail);
    const forms = [SECRET, encodeURIComponent(SECRET), btoa(SECRET), btoa(`Bearer ${SECRET}`)];
    expect(forms.every((text) => outcome.holdsKey(`<${text}>`))).toBe(true);
    expect(outcome.holdsKey("sk+other")).toBe(false);
  });

  it("refuses a key that would end the header, and a malformed ref", async () => {
    const { connector, requests } = setUp({ read: async () => ({ kind: "found", secret: "a\r\nhost: evil" }) });
    expect(await connector.fetch(get(), bearer, hosts)).toMatchObject({ ok: false, code: "secret_refused" });
    const auth = { header: "bearer", ref: "provider:../../root" };
    expect(await connector.fetch(get(), auth, hosts)).toMatchObject({ ok: false, code: "secret_refused" });
    expect(requests).toEqual([]);
  });

  it("asks the vault once for all who wait, and again after a minute", async () => {
    const { connector, clock, reads } = setUp();
    await Promise.all([1, 2, 3].map(() => connector.fetch(get(), bearer, hosts)));
    expect(reads()).toBe(1);
    clock.now = SECRET_CACHE_MS - 1;
    await connector.fetch(get(), bearer, hosts);
    expect(reads()).toBe(1);
    clock.now = SECRET_CACHE_MS;
    await connector.fetch(get(), bearer, hosts);
    expect(reads()).toBe(2);
  });

  it("keeps 256 secrets: one more makes the oldest be read again", async () => {
    const { connector, reads } = setUp();
    const read = (at: number) => connector.fetch(get(), { header: "bearer", ref: `provider:p${at}` }, hosts);
    for (let at = 0; at <= 256; at += 1) await read(at);
    for (const at of [1, 256]) await read(at);
    expect(reads()).toBe(257);
    await read(0);
    expect(reads()).toBe(258);
  });

  it("asks again soon for a key that was missing", async () => {
    const { connector, clock, reads } = setUp({ read: async () => ({ kind: "missing", detail: "no key" }) });
    expect(await connector.fetch(get(), bearer, hosts)).toEqual({
      ok: false,
      code: "secret_missing",
      detail: "no key",
    });
    await connector.fetch(get(), bearer, hosts);
    expect(reads()).toBe(1);
    clock.now = MISSING_SECRET_CACHE_MS;
    await connector.fetch(get(), bearer, hosts);
    expect(reads()).toBe(2);
  });

  it("turns a vault that throws into an answer without its words", async () => {
    const { connector } = setUp({ read: () => Promise.reject(new Error(`token ${SECRET}`)) });
    expect(await connector.fetch(get(), bearer, hosts)).toEqual({
      ok: false,
      code: "secret_unavailable",
      detail: "the vault failed while reading provider:acme",
    });
  });
});

describe("a key's name", () => {
  it.each([
    ["openai", "PROVIDER_OPENAI_KEY"],
    ["together-ai", "PROVIDER_TOGETHER_AI_KEY"],
    ["x_y2", "PROVIDER_X_Y2_KEY"],
  ])("provider:%s is %s in the environment", (name, variable) => {
    expect(variableName(name)).toBe(variable);
  });
});

describe("keys in the environment", () => {
  it("are found, without the line end that files like to add", async () => {
    const source = environmentSecrets({ PROVIDER_ACME_KEY: "sk-1\n", PROVIDER_EMPTY_KEY: " " });
    expect(await source.read("acme")).toEqual({ kind: "found", secret: "sk-1" });
    expect(await source.read("empty")).toMatchObject({ kind: "missing" });
    expect(await source.read("other")).toEqual({
      kind: "missing",
      detail: "no key for provider:other: set PROVIDER_OTHER_KEY",
    });
  });
});

describe("keys in the Secrets Store", () => {
  const env = {
    PROVIDER_ACME_KEY: { get: async () => "sk-stored" },
    PROVIDER_BROKEN_KEY: { get: () => Promise.reject(new Error("secret sk-stored gone")) },
    PROVIDER_BLANK_KEY: { get: async () => "" },
  };

  it("are read through their bindings", async () => {
    const source = secretsStoreSecrets(env);
    expect(await source.read("acme")).toEqual({ kind: "found", secret: "sk-stored" });
    expect(await source.read("blank")).toMatchObject({ kind: "missing" });
    expect(await source.read("other")).toMatchObject({ kind: "missing" });
    const broken = await source.read("broken");
    expect(broken.kind).toBe("unavailable");
    expect(JSON.stringify(broken)).not.toContain("sk-stored");
  });
});

describe("the settings", () => {
  const tools = { fetch: async () => new Response("{}"), now: () => 0 };

  it("choose between environment and Secrets Store key by key", async () => {
    const source = openSecrets({ PROVIDER_A_KEY: "one", PROVIDER_B_KEY: { get: async () => "two" } }, tools);
    expect(await source.read("a")).toEqual({ kind: "found", secret: "one" });
    expect(await source.read("b")).toEqual({ kind: "found", secret: "two" });
  });

  it("with VAULT_ADDR alone say what is missing, and do not fall back on the environment", async () => {
    const source = openSecrets({ VAULT_ADDR: "https://vault.example", PROVIDER_A_KEY: "one" }, tools);
    expect(await source.read("a")).toMatchObject({ kind: "refused", detail: expect.stringContaining("VAULT_TOKEN") });
  });
});
