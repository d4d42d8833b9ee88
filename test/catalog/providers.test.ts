import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  BUNDLED_FOLDER,
  BUNDLED_MODULE,
  bundledModuleText,
  providerFiles,
  readProviderFolder,
} from "../../scripts/providers.ts";
import { listModels } from "../../src/catalog/list-models.ts";
import { describeProblem, parseProvider } from "../../src/catalog/provider-yaml.ts";
import { loadProviders } from "../../src/catalog/providers.ts";
import { fakeProvider, json } from "./fake-provider.ts";
import { PROVIDER_SAMPLES } from "./provider-samples.ts";

const good = `provider: acme
list_url: https://api.acme.example/v1/models
method: GET
auth: { header: x-api-key, ref: provider:acme }
response_path: "data[]"
fields: { id: id }
`;

const problemsOf = (text: string): string[] => {
  const reading = parseProvider("acme.yaml", text);
  return reading.ok ? [] : reading.problems.map(describeProblem);
};

describe("the bundled providers", () => {
  it("are those of providers/catalog, as bundled-providers.ts has them", async () => {
    const text = bundledModuleText(await readProviderFolder(BUNDLED_FOLDER));
    expect(await readFile(BUNDLED_MODULE, "utf8"), "run: npm run providers").toBe(text);
    expect([...loadProviders().values()]).toEqual(await readProviderFolder(BUNDLED_FOLDER));
  });

  it("are each tried on what the provider answers", () => {
    expect(Object.keys(PROVIDER_SAMPLES).sort()).toEqual([...loadProviders().keys()]);
  });

  it.each(Object.entries(PROVIDER_SAMPLES))("read the list of %s", async (name, sample) => {
    const config = loadProviders().get(name);
    if (config === undefined) throw new Error(`no provider ${name}`);
    const fake = fakeProvider(() => json(sample.body), { [`PROVIDER_${name.toUpperCase()}_KEY`]: `key-of-${name}` });
    const listing = await listModels(fake.connector, config, null);
    expect(listing).toEqual({ ok: true, models: new Map(sample.models.map((model) => [model.id, model])) });
    expect(fake.requests).toHaveLength(1);
    const isKeyed = [...(fake.requests[0]?.headers.values() ?? [])].some((value) => value.includes(`key-of-${name}`));
    expect(isKeyed).toBe(config.auth !== undefined);
  });
});

describe("a provider's file", () => {
  it("may be small", () => {
    expect(parseProvider("acme.yaml", good)).toMatchObject({ ok: true, provider: { provider: "acme", local: false } });
  });

  it.each([
    ["list_url: https", "list_ulr: https", "acme.yaml:2: list_ulr: is not a known key of a provider file"],
    ["method: GET", "method: DELETE", "acme.yaml:3: method: "],
    ["header: x-api-key", 'header: "query:"', "acme.yaml:4: auth.header: must be bearer, the name of a header"],
    ["header: x-api-key", "header: Host", "acme.yaml:4: auth.header: must be bearer, the name of a header"],
    ["ref: provider:acme", "ref: provider:../root", "acme.yaml:4: auth.ref: must be provider:<name>"],
    ["ref: provider:acme", "ref: provider:acme, token: abc", "acme.yaml:4: auth.token: is not a known key"],
    ['"data[]"', "data", "acme.yaml:5: response_path: must end in []"],
    ["{ id: id }", "{ name: id }", "acme.yaml:6: fields.id: "],
    ["{ id: id }", "{ id: a..b }", "acme.yaml:6: fields.id: must be a dotted path"],
    ["https://api.acme", "http://api.acme", "acme.yaml:2: list_url: must begin with https://"],
    ["https://api.acme.example/v1/models", "https://10.0.0.1/", "acme.yaml:2: list_url: must have a host name"],
    ["provider: acme\n", "provider: Acme Inc\n", "acme.yaml:1: provider: must be 1–64 characters"],
    ["method: GET", "extra_headers: { Host: evil }", "acme.yaml:3: extra_headers.Host: "],
    ["method: GET", "extra_headers: { Authorization: Bearer x }", "acme.yaml:3: extra_headers.Authorization: "],
    ["method: GET", 'extra_headers: { a: "b\\r\\nc: d" }', "acme.yaml:3: extra_headers.a: must be visible ASCII"],
    ["method: GET", 'key_hosts: ["*.acme.example"]', "acme.yaml:3: key_hosts.0: must be a host name"],
    ["method: GET", "__proto__: { local: true }", "acme.yaml:3: __proto__: is not a known key"],
    ["method: GET", "method: GET\nmethod: GET", "acme.yaml:4: Map keys must be unique"],
    ["method: GET", "method: &m GET\nstrip_prefix: *m", "acme.yaml:1: must not use YAML aliases"],
  ])("with %s changed to %s is refused by line and key", (from, to, problem) => {
    expect(problemsOf(good.replace(from, to)).join("\n")).toContain(problem);
  });

  it("that is no file of a provider at all is refused, not crashed on", () => {
    for (const text of ["", "- a", "7", "{", "a: [".repeat(2000), "x".repeat(70_000), "\u0000"]) {
      expect(problemsOf(text), text.slice(0, 20)).not.toEqual([]);
    }
  });
});

describe("a folder of the installation's own providers", () => {
  let folder = "";
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "catalog-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it("adds to the bundled ones, and takes the place of those with the same name, without a build", async () => {
    await writeFile(path.join(folder, "acme.yaml"), good);
    await writeFile(path.join(folder, "azure.yml"), good.replace("provider: acme", "provider: azure"));
    await writeFile(path.join(folder, "notes.txt"), "not a provider");
    const providers = loadProviders(JSON.stringify(await providerFiles(folder)));
    expect(providers.get("acme")?.list_url).toBe("https://api.acme.example/v1/models");
    expect(providers.get("azure")?.list_url).toBe("https://api.acme.example/v1/models");
    expect(providers.size).toBe(loadProviders().size + 1);
  });

  it("with mistakes names all of them at once", async () => {
    await writeFile(path.join(folder, "a.yaml"), good.replace("method: GET", "methd: GET"));
    await writeFile(path.join(folder, "b.yaml"), good.replace('"data[]"', "data"));
    await expect(readProviderFolder(folder)).rejects.toThrow(/a\.yaml:3: methd: .*\n.*b\.yaml:5: response_path: /);
  });

  it("in which two files describe one provider is refused", async () => {
    await writeFile(path.join(folder, "a.yaml"), good);
    await writeFile(path.join(folder, "b.yaml"), good);
    await expect(readProviderFolder(folder)).rejects.toThrow("acme is already described by a.yaml");
  });

  it("never takes the catalog along: what is wrong with it is logged and left out", () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    const files = {
      "a.yaml": good,
      "again.yaml": good.replace("v1", "v2"),
      "broken.yaml": "{",
      "plain.yaml": good.replace("provider: acme\n", "provider: plain\n").replace("https://", "http://"),
      "number.yaml": 7,
    };
    const providers = loadProviders(JSON.stringify(files));
    expect(providers.get("acme")?.list_url).toBe("https://api.acme.example/v1/models");
    expect(providers.has("plain")).toBe(false);
    expect(providers.size).toBe(loadProviders().size + 1);
    const logged = log.mock.calls.map(([line]) => line);
    for (const named of ["again.yaml:1: ", "broken.yaml:1: ", "plain.yaml:2: list_url: ", "number.yaml: "]) {
      expect(logged.filter((line) => line.includes(named))).toHaveLength(1);
    }
    expect(logged).toHaveLength(4);
    for (const text of ["{", "[]", "null", "7"]) {
      expect(loadProviders(text), text).toEqual(loadProviders());
      expect(log.mock.lastCall?.[0]).toContain("SERVICE_CATALOG_FILES");
    }
    log.mockRestore();
  });
});
