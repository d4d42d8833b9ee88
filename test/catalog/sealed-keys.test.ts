// A tenant's keys of providers: sealed for one tenant, one provider and one deployment.

import { describe, expect, test } from "vitest";
import { mayUseOperatorsKeys, tenantSecrets } from "../../src/catalog/vault/tenant-secrets.ts";
import { forProviderKey, seal, unseal } from "../../src/http/sealed.ts";

const KEY = "sk-tenant-0123456789";
const SECRET = "signing-secret";

describe("a sealed key", () => {
  test("opens only with the secret, the tenant and the provider that it was sealed for", async () => {
    const sealed = await seal(SECRET, forProviderKey("a", "openai"), KEY);
    expect(sealed).not.toContain(KEY);
    expect(await unseal(SECRET, forProviderKey("a", "openai"), sealed)).toBe(KEY);
    expect(await unseal("another", forProviderKey("a", "openai"), sealed)).toBe(null);
    expect(await unseal(SECRET, forProviderKey("b", "openai"), sealed)).toBe(null);
    expect(await unseal(SECRET, forProviderKey("a", "groq"), sealed)).toBe(null);
    expect(await unseal(SECRET, forProviderKey("a", "openai"), "v1.!.!")).toBe(null);
    expect(await unseal(SECRET, { ...forProviderKey("a", "openai"), purpose: "grant" }, sealed)).toBe(null);
  });

  test("of an earlier release opens", async () => {
    const sealed = "v1.ZNNvGS4L69jbD6Ft.Wq/xbwFnu5DzAV80IId92IiUVO2n0WjLRxwwfLLW2CVeM4M4";
    expect(await unseal(SECRET, forProviderKey("a", "openai"), sealed)).toBe(KEY);
  });

  test("is another text each time", async () => {
    const USE = forProviderKey("a", "openai");
    const [one, other] = await Promise.all([seal(SECRET, USE, KEY), seal(SECRET, USE, KEY)]);
    expect(one).not.toBe(other);
  });
});

describe("the key for a call", () => {
  const operators = { read: async () => ({ kind: "found" as const, secret: "sk-operator" }) };
  const reading = async (mayUseOperators: boolean, sealed: string | null) =>
    tenantSecrets({
      tenant: "a",
      signingSecret: SECRET,
      operators,
      mayUseOperators,
      sealedKey: async () => sealed,
    }).read("openai");

  test("is the tenant's own before the operator's", async () => {
    const sealed = await seal(SECRET, forProviderKey("a", "openai"), KEY);
    expect(await reading(true, sealed)).toEqual({ kind: "found", secret: KEY });
    expect(await reading(true, null)).toEqual({ kind: "found", secret: "sk-operator" });
  });

  test("is never the operator's for a tenant that the operator did not name", async () => {
    expect(await reading(false, null)).toMatchObject({ kind: "missing", detail: /SERVICE_EDGE_TENANTS/ });
  });

  test("names both ways to set it where there is none", async () => {
    const missing = { read: async () => ({ kind: "missing" as const, detail: "no key for provider:openai: set X" }) };
    const facts = { tenant: "a", signingSecret: SECRET, mayUseOperators: true, sealedKey: async () => null };
    expect(await tenantSecrets({ ...facts, operators: missing }).read("openai")).toEqual({
      kind: "missing",
      detail: "no key for provider:openai: set X, or this tenant's own: signalbox provider-keys set openai",
    });
  });

  test("that was sealed elsewhere is no reason to take the operator's", async () => {
    const elsewhere = await seal("another", forProviderKey("a", "openai"), KEY);
    expect(await reading(true, elsewhere)).toMatchObject({ kind: "refused", detail: /set it again/ });
  });

  test.each([
    [undefined, "default", true],
    [undefined, "other", false],
    ["a, b", "b", true],
    ["a, b", "default", false],
    ["*", "any", true],
  ])("with SERVICE_EDGE_TENANTS %j may be the operator's for %s: %s", (listed, tenant, may) => {
    expect(mayUseOperatorsKeys(listed, tenant)).toBe(may);
  });
});
