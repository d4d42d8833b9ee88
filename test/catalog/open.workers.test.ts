import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { listModels } from "../../src/catalog/list-models.ts";
import { type CatalogBindings, openCatalog } from "../../src/catalog/open.ts";
import { acme, json, modelRows } from "./fake-provider.ts";

const { DB } = env as unknown as { DB: D1Database };
const reached: string[] = [];
const LOCAL_NETWORK = {
  fetch: async (request: Request) => {
    reached.push(`inside ${request.url}`);
    return json(modelRows("a"));
  },
} as unknown as Fetcher;

beforeEach(() => {
  reached.length = 0;
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input) => {
    const request = input as Request;
    reached.push(`outside ${request.url} ${request.headers.get("authorization")}`);
    return json(modelRows("b"));
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});

const open = (bindings: Record<string, unknown>) =>
  openCatalog(
    bindings as unknown as CatalogBindings,
    DB,
    () => 0,
    async () => null,
  );

describe("the catalog of an installation", () => {
  it("finds its keys and its own providers in what is bound", async () => {
    const file = [
      "provider: house",
      "list_url: https://models.house.example/list",
      "auth: { header: bearer, ref: provider:house }",
      'response_path: "[]"',
      "fields: { id: id }",
    ].join("\n");
    const tools = open({
      SERVICE_CATALOG_FILES: JSON.stringify({ "house.yaml": file }),
      PROVIDER_HOUSE_KEY: "sk-house",
    });
    const house = tools.providers.get("house");
    if (house === undefined) throw new Error("no house");
    await listModels(tools.connectorOf("t"), house, null);
    expect(reached).toEqual(["outside https://models.house.example/list Bearer sk-house"]);
  });

  it("goes to a local runtime by the private network, and to nobody else", async () => {
    const { connectorOf } = open({ LOCAL_NETWORK, PROVIDER_ACME_KEY: "sk-acme" });
    const runtime = { ...acme, local: true, list_url: "http://127.0.0.1:11434/v1/models" };
    expect(await listModels(connectorOf("t"), runtime, null)).toMatchObject({ ok: true });
    expect(await listModels(connectorOf("t"), acme, null)).toMatchObject({ ok: true });
    expect(reached).toEqual([
      "inside http://127.0.0.1:11434/v1/models",
      "outside https://api.acme.example/v1/models Bearer sk-acme",
    ]);
  });

  it("has no local provider where the operator turned them off", () => {
    const names = (bindings: Record<string, unknown>) => [...open(bindings).providers.keys()];
    expect(names({})).toEqual(expect.arrayContaining(["ollama", "vllm", "openai"]));
    const { providers } = open({ SERVICE_CATALOG_LOCAL: "0" });
    expect([...providers.values()].filter(({ local }) => local)).toEqual([]);
    expect([...providers.keys()]).toContain("openai");
    expect(names({ SERVICE_CATALOG_LOCAL: "1" })).toContain("ollama");
  });

  it("where there is no private network uses the one it has", async () => {
    const { connectorOf } = open({});
    await listModels(connectorOf("t"), { ...acme, local: true, list_url: "http://127.0.0.1:11434/v1/models" }, null);
    expect(reached).toEqual(["outside http://127.0.0.1:11434/v1/models null"]);
  });
});
