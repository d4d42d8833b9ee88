// The conformance suite of the KV source. It runs against the fake, or against a real Vault or OpenBao server if
// VAULT_ADDR and a VAULT_TOKEN with root's rights are set: the fake is only as good as this comparison.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type KvOptions, kvSecrets } from "../../src/catalog/vault/kv.ts";
import type { KvAuth } from "../../src/catalog/vault/kv-login.ts";
import { FakeVault, ROOT_TOKEN } from "./fake-vault.ts";

const realAddress = process.env.VAULT_ADDR;
const address = realAddress ?? "https://vault.example:8200";
const rootToken = realAddress === undefined ? ROOT_TOKEN : (process.env.VAULT_TOKEN ?? "");
const PREFIX = `signalbox-test-${Math.random().toString(36).slice(2)}`;

let fake = new FakeVault();
beforeEach(() => {
  fake = new FakeVault();
});

const send = (request: Request) => (realAddress === undefined ? fake.fetch(request) : fetch(request));
const kv = (auth: KvAuth, options: Partial<KvOptions> = {}) =>
  kvSecrets({ address, auth, prefix: PREFIX, fetch: send, now: () => fake.now, ...options });
const asRoot = { kind: "token", token: rootToken } as const;

async function admin(method: string, path: string, body?: unknown): Promise<Record<string, never>> {
  const headers = { "x-vault-token": rootToken, "content-type": "application/json" };
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const response = await send(new Request(`${address}/v1/${path}`, init));
  if (response.status >= 400) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.status === 204 ? {} : await response.json();
}

const write = (name: string, data: unknown) => admin("POST", `secret/data/${PREFIX}/${name}`, { data });

describe("a key in a KV version 2 engine", () => {
  it("is read from its field key", async () => {
    await write("acme", { key: "sk-1\n", note: "of the team" });
    expect(await kv(asRoot).read("acme")).toEqual({ kind: "found", secret: "sk-1" });
  });

  it("is the newest version's", async () => {
    await write("acme", { key: "sk-old" });
    await write("acme", { key: "sk-new" });
    expect(await kv(asRoot).read("acme")).toEqual({ kind: "found", secret: "sk-new" });
  });

  it("brings the hosts that its metadata allows", async () => {
    await write("bound", { key: "sk-1" });
    const hosts = { allowed_hosts: "api.acme.example, EU.acme.example" };
    await admin("POST", `secret/metadata/${PREFIX}/bound`, { custom_metadata: hosts });
    expect(await kv(asRoot).read("bound")).toEqual({
      kind: "found",
      secret: "sk-1",
      hosts: ["api.acme.example", "eu.acme.example"],
    });
  });

  it("that was never written is missing", async () => {
    expect(await kv(asRoot).read("nobody")).toEqual({
      kind: "missing",
      detail: `the vault has no secret at secret/${PREFIX}/nobody`,
    });
  });

  it("that is deleted says so, and is back once undeleted", async () => {
    await write("gone", { key: "sk-1" });
    await admin("DELETE", `secret/data/${PREFIX}/gone`);
    expect(await kv(asRoot).read("gone")).toMatchObject({
      kind: "missing",
      detail: expect.stringContaining("deleted"),
    });
    await admin("POST", `secret/undelete/${PREFIX}/gone`, { versions: [1] });
    expect(await kv(asRoot).read("gone")).toEqual({ kind: "found", secret: "sk-1" });
  });

  it("that is destroyed says so", async () => {
    await write("burnt", { key: "sk-1" });
    await admin("POST", `secret/destroy/${PREFIX}/burnt`, { versions: [1] });
    expect(await kv(asRoot).read("burnt")).toMatchObject({
      kind: "missing",
      detail: expect.stringContaining("destroyed"),
    });
  });

  it.each([[{ token: "sk-1" }], [{ key: 7 }], [{ key: "  " }], [{ key: { value: "sk-1" } }]])(
    "that is no text in the field key (%j) is missing",
    async (data) => {
      await write("odd", data);
      const reading = await kv(asRoot).read("odd");
      expect(reading).toMatchObject({ kind: "missing", detail: expect.stringContaining("field key") });
      expect(JSON.stringify(reading)).not.toContain("sk-1");
    },
  );
});

describe("a mount", () => {
  it("of KV version 1 is refused by name", async () => {
    const mount = `kv1-${PREFIX}`;
    await admin("POST", `sys/mounts/${mount}`, { type: "kv", options: { version: "1" } });
    // A version 1 engine has no data/: this secret is where version 2 would look.
    await admin("POST", `${mount}/data/${PREFIX}/acme`, { key: "sk-1" });
    expect(await kv(asRoot, { mount }).read("acme")).toEqual({
      kind: "refused",
      detail: `the mount ${mount} is KV version 1: upgrade it to version 2`,
    });
  });

  it("that does not exist is refused by name", async () => {
    expect(await kv(asRoot, { mount: "nowhere" }).read("acme")).toEqual({
      kind: "refused",
      detail: "the vault has no secrets engine at nowhere in this namespace",
    });
  });
});

describe("a token", () => {
  it("that the vault does not know is refused, and does not show", async () => {
    const reading = await kv({ kind: "token", token: "hvs.unknown" }).read("acme");
    expect(reading).toMatchObject({ kind: "refused", detail: expect.stringContaining("its token has expired") });
    expect(JSON.stringify(reading)).not.toContain("hvs.unknown");
  });
});

describe("an AppRole", () => {
  const role = `role-${PREFIX}`;
  let auth: KvAuth = asRoot;

  beforeEach(async () => {
    if (realAddress !== undefined) await admin("POST", "sys/auth/approle", { type: "approle" }).catch(() => {});
    const policy = `path "secret/data/${PREFIX}/*" { capabilities = ["read"] }`;
    await admin("PUT", `sys/policies/acl/${role}`, { policy });
    await admin("POST", `auth/approle/role/${role}`, { token_policies: role, token_ttl: "60s" });
    const { data: one } = (await admin("GET", `auth/approle/role/${role}/role-id`)) as unknown as Answer;
    const { data: two } = (await admin("POST", `auth/approle/role/${role}/secret-id`, {})) as unknown as Answer;
    auth = { kind: "approle", roleId: one.role_id ?? "", secretId: two.secret_id ?? "" };
    await write("acme", { key: "sk-1" });
  });
  type Answer = { data: Record<string, string> };

  it("logs in and reads what its policy allows", async () => {
    expect(await kv(auth).read("acme")).toEqual({ kind: "found", secret: "sk-1" });
  });

  it("may read nothing that its policy does not name", async () => {
    const reading = await kv(auth, { prefix: "others" }).read("acme");
    expect(reading).toMatchObject({ kind: "refused", detail: expect.stringContaining("policy lacks read") });
  });

  it("with a wrong secret id is refused, and shows neither id", async () => {
    const wrong = { ...auth, secretId: "wrong-secret-id" } as KvAuth;
    const reading = await kv(wrong).read("acme");
    expect(reading).toMatchObject({ kind: "refused", detail: expect.stringContaining("AppRole login") });
    expect(JSON.stringify(reading)).not.toContain("wrong-secret-id");
  });

  it("logs in again when its token was revoked meanwhile", async () => {
    const tokens: string[] = [];
    const watching = (request: Request) => {
      const token = request.headers.get("x-vault-token");
      if (token !== null) tokens.push(token);
      return send(request);
    };
    const source = kv(auth, { fetch: watching });
    await source.read("acme");
    await admin("POST", "auth/token/revoke", { token: tokens[0] });
    expect(await source.read("acme")).toEqual({ kind: "found", secret: "sk-1" });
    expect(new Set(tokens).size).toBe(2);
  });
});

describe.skipIf(realAddress !== undefined)("what only the fake can be made to do", () => {
  const role = "clock";
  const logins = () => fake.requests.filter((request) => request.url.endsWith("/auth/approle/login")).length;

  async function appRole(): Promise<KvAuth> {
    await admin("PUT", `sys/policies/acl/${role}`, { policy: `path "secret/data/${PREFIX}/*" {}` });
    await admin("POST", `auth/approle/role/${role}`, { token_policies: role, token_ttl: "60s" });
    const answer = (await admin("POST", `auth/approle/role/${role}/secret-id`)) as unknown as {
      data: { secret_id: string };
    };
    return { kind: "approle", roleId: `role-${role}`, secretId: answer.data.secret_id };
  }

  it("a login is kept for two thirds of its lease, and shared by all who wait for it", async () => {
    await write("acme", { key: "sk-1" });
    const source = kv(await appRole());
    await Promise.all([source.read("acme"), source.read("acme")]);
    fake.now = 39_000;
    await source.read("acme");
    expect(logins()).toBe(1);
    fake.now = 41_000;
    expect(await source.read("acme")).toMatchObject({ kind: "found" });
    expect(logins()).toBe(2);
  });

  it("a vault that denies even a fresh login is not asked for ever", async () => {
    const source = kv(await appRole(), { prefix: "others" });
    expect(await source.read("acme")).toMatchObject({ kind: "refused" });
    expect(logins()).toBe(2);
  });

  it("every request names itself, and its namespace where there is one", async () => {
    await kv(asRoot, { namespace: "team/ai" }).read("acme");
    await kv(asRoot).read("acme");
    const [first, second] = fake.requests;
    expect(first?.headers.get("x-vault-request")).toBe("true");
    expect(first?.headers.get("x-vault-namespace")).toBe("team/ai");
    expect(second?.headers.has("x-vault-namespace")).toBe(false);
    expect(first?.redirect).toBe("manual");
    expect(first?.url).toBe(`${address}/v1/secret/data/${PREFIX}/acme`);
  });

  it.each([
    [307, "active node"],
    [412, "standby"],
    [429, "too many requests"],
    [472, "standby"],
    [473, "standby"],
    [500, "500"],
    [502, "502"],
    [503, "sealed"],
  ])("status %i means that the vault is away, and that a later try may do", async (status, words) => {
    const answer = async () => new Response('{"errors":["Vault is sealed"]}', { status, headers: { location: "/" } });
    const reading = await kv(asRoot, { fetch: answer }).read("acme");
    expect(reading).toMatchObject({ kind: "unavailable", detail: expect.stringContaining(words) });
  });

  it.each([
    [400, '{"errors":["missing client token"]}', "refused"],
    [405, '{"errors":["unsupported operation"]}', "refused"],
    [200, "<html>a proxy</html>", "refused"],
    [200, "[]", "missing"],
    [200, '{"data":null}', "missing"],
    [200, '{"data":{"data":null}}', "missing"],
    [200, '{"data":{"data":"text"}}', "missing"],
    [200, '{"errors":["odd"],"warnings":["odd"]}', "missing"],
    [204, null, "missing"],
  ])("status %i with %s is %s", async (status, body, kind) => {
    const answer = async () => new Response(body, { status });
    expect(await kv(asRoot, { fetch: answer }).read("acme")).toMatchObject({ kind });
  });

  it("silence, a flood and a broken line are the vault being away", async () => {
    const silent = kv(asRoot, { fetch: () => new Promise(() => {}), timeoutMs: 20 });
    expect(await silent.read("acme")).toMatchObject({
      kind: "unavailable",
      detail: expect.stringContaining("in time"),
    });
    const huge = kv(asRoot, { fetch: async () => new Response("x".repeat(2_000_000)) });
    expect(await huge.read("acme")).toMatchObject({ kind: "unavailable", detail: expect.stringContaining("larger") });
    const broken = kv(asRoot, { fetch: () => Promise.reject(new Error(`token ${ROOT_TOKEN}`)) });
    expect(await broken.read("acme")).toEqual({ kind: "unavailable", detail: "the vault could not be reached" });
  });
});

afterEach(() => {
  for (const request of fake.requests) expect(request.url).not.toContain(ROOT_TOKEN);
});
