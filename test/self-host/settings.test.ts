// The operator's own provider files, checked before anything is served.

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { rootCertificates } from "node:tls";
import { expect, test } from "vitest";
import { historyDefaultsOf } from "../../contract/config/config-history.ts";
import { boundsOf, type TenantEnv } from "../../durable-objects/tenant-env.ts";
import { ExitError } from "../../self-host/exit-error.ts";
import { passedEnvironment, readExtraCatalog } from "../../self-host/settings/edge-environment.ts";
import { readExtraCertificates } from "../../self-host/settings/extra-certificates.ts";
import { readSettings } from "../../self-host/settings/settings.ts";
import { loadProviders } from "../../src/catalog/providers.ts";
import { folderForEachTest } from "../support/temporary-folder.ts";

const GOOD = 'provider: acme\nlist_url: https://api.acme.example/models\nresponse_path: "data[]"\nfields: { id: id }\n';

const folder = folderForEachTest();

test("an unknown option is named at the end of what is said, with where the options are listed", () => {
  const says = "Unknown option '--no-workers'\nnpm start -- --help lists the options.";
  expect(() => readSettings(["--no-workers"], {})).toThrow(new ExitError(says, 2));
});

test("what a tenant may store reaches its object, and is refused at the start if it is no number", () => {
  for (const given of ["0", "0.5", "20"]) {
    const env = { SERVICE_TENANT_MAX_GB: given };
    expect(() => readSettings([], env)).not.toThrow();
    expect(passedEnvironment({}, env)).toMatchObject(env);
    expect(boundsOf(env as unknown as TenantEnv).maxGb).toBe(Number(given));
  }
  for (const given of ["much", "-1", "1e9", "20 GB", "Infinity"])
    expect(() => readSettings([], { SERVICE_TENANT_MAX_GB: given })).toThrow(
      `SERVICE_TENANT_MAX_GB is "${given}": use a number of GB`,
    );
});

test("a collector that is no address is refused at the start, and not when the first spans are lost", () => {
  for (const given of ["localhost", "127.0.0.1:4318", "collector:4318", "ftp://collector/v1/traces"])
    expect(() => readSettings([], { SERVICE_OTLP_URL: given })).toThrow(
      `SERVICE_OTLP_URL is "${given}": use an address`,
    );
  for (const given of [undefined, "", "http://127.0.0.1:4318/v1/traces", "https://otlp.example/v1/traces"])
    expect(() => readSettings([], { SERVICE_OTLP_URL: given })).not.toThrow();
});

test("headers of a collector that it would never get are refused at the start, without a word of what they say", () => {
  for (const given of ["hunter2", "authorization: hunter2", "x=1,hunter2", "a b=hunter2", "authorization=100%hunter2"])
    expect(() => readSettings([], { SERVICE_OTLP_HEADERS: given })).toThrow(
      /^SERVICE_OTLP_HEADERS is no list of headers: (?!.*hunter2)/,
    );
  for (const given of [undefined, "", "authorization=Bearer%20abc==", "a=1, b=2,"])
    expect(() => readSettings([], { SERVICE_OTLP_HEADERS: given })).not.toThrow();
});

test("days for which history is kept are refused if they are no number, because it would be kept for ever", () => {
  for (const name of ["SERVICE_HISTORY_KEEP_DAYS", "SERVICE_HISTORY_KEEP_TEXTS_DAYS"]) {
    for (const given of ["ninety", "30d", "0", "-1", "1.5", "40000"])
      expect(() => readSettings([], { [name]: given })).toThrow(`${name} is "${given}": use a whole number of days`);
    for (const given of [undefined, "", "1", "36500"]) expect(() => readSettings([], { [name]: given })).not.toThrow();
  }
});

test("an address of the runtime that is none is refused, instead of a local worker that ends again and again", () => {
  for (const given of ["localhost:11434", "127.0.0.1", "ollama"])
    expect(() => readSettings([], { SERVICE_RUNTIME_URL: given })).toThrow(
      `SERVICE_RUNTIME_URL is "${given}": use an address`,
    );
  for (const given of [undefined, "", " ", "http://127.0.0.1:11434"])
    expect(() => readSettings([], { SERVICE_RUNTIME_URL: given })).not.toThrow();
});

test("an address of people that is none, or below a path, is refused: its links would lead elsewhere", () => {
  for (const given of ["jobs.example.com", "https://example.com/signalbox"])
    expect(() => readSettings([], { SERVICE_PUBLIC_URL: given })).toThrow(
      `SERVICE_PUBLIC_URL is "${given}": use an address without a path`,
    );
  for (const given of [undefined, "", "https://jobs.example.com", "http://127.0.0.1:8787/"])
    expect(() => readSettings([], { SERVICE_PUBLIC_URL: given })).not.toThrow();
});

test("an address of the vault that is none is refused, and not when the first key is asked for", () => {
  for (const given of ["vault", "vault:8200", "not an address"])
    expect(() => readSettings([], { VAULT_ADDR: given })).toThrow(`VAULT_ADDR is "${given}": use an address`);
  for (const given of [undefined, "", "http://127.0.0.1:8200"])
    expect(() => readSettings([], { VAULT_ADDR: given })).not.toThrow();
});

test("tenants that may use the operator's keys are refused if no tenant can have such a name", () => {
  for (const given of ["Default", "acme;other", "acme,other one"])
    expect(() => readSettings([], { SERVICE_EDGE_TENANTS: given })).toThrow(
      /^SERVICE_EDGE_TENANTS has ".*": use tenants'/,
    );
  for (const given of [undefined, "", "*", "default", "acme, other,"])
    expect(() => readSettings([], { SERVICE_EDGE_TENANTS: given })).not.toThrow();
});

test("a root key that is easy to guess, or that no request can send, is refused with the rule", () => {
  for (const given of ["short", "eleven-char", "has a space in it", "ünïcödé-schlüssel"])
    expect(() => readSettings([], { SERVICE_ROOT_KEY: given })).toThrow(/^SERVICE_ROOT_KEY is too weak: .* 12 letters/);
  for (const given of [undefined, "", "root-of-mine", "0123456789abcdef/+=="])
    expect(() => readSettings([], { SERVICE_ROOT_KEY: given })).not.toThrow();
});

test.each(["SERVICE_SIGNING_SECRET", "SERVICE_SIGNING_SECRET_ALSO"])(
  "a %s that can be found by trying is refused with the rule",
  (name) => {
    for (const given of ["secret", "fifteen-letters"])
      expect(() => readSettings([], { [name]: given })).toThrow(new RegExp(`^${name} is too weak: .* 16 characters`));
    for (const given of [undefined, "", "sixteen-letters!"])
      expect(() => readSettings([], { [name]: given })).not.toThrow();
  },
);

test.each([
  "SERVICE_LOG",
  "SERVICE_LOG_LEVEL",
  "SERVICE_ROOT_KEY",
  "SERVICE_SIGNING_SECRET",
  "SERVICE_COMPACT",
  "PORT",
])("a wrong %s ends the start as wrong usage", (name) => {
  const exitCodeOf = (env: NodeJS.ProcessEnv): number | null => {
    try {
      readSettings([], env);
      return null;
    } catch (error) {
      return error instanceof ExitError ? error.exitCode : null;
    }
  };
  expect(exitCodeOf({ [name]: "wrong" })).toBe(2);
});

test.each([
  "SERVICE_ARCHIVE",
  "SERVICE_CATALOG_LOCAL",
  "SERVICE_CATALOG_SYNC",
  "SERVICE_COMPACT",
  "SERVICE_LOG_REQUESTS",
  "SERVICE_SIGN_IN_PRIVATE",
  "SERVICE_WEBHOOKS_PRIVATE",
])("%s is on, off or not set; another word is refused, so that nobody takes it for off", (name) => {
  for (const given of [undefined, "", "0", "1"]) expect(() => readSettings([], { [name]: given })).not.toThrow();
  for (const given of ["false", "off", "true", "1 "])
    expect(() => readSettings([], { [name]: given })).toThrow(`${name} is "${given}": use 1 or 0.`);
});

test("on Windows, which has no Unix sockets for it, the edge is not in Node", () => {
  expect(readSettings([], {}, "win32").edge).toBe("workerd");
  expect(() => readSettings(["--edge", "node"], {}, "win32")).toThrow(
    "--edge node does not run on Windows: remove it.",
  );
});

test("several processes need the edge in Node, said before the data folder keeps their number", () => {
  expect(() => readSettings(["--edge", "workerd"], { SERVICE_PROCESSES: "2" })).toThrow("needs the edge in Node");
  for (const [edge, count] of [
    ["workerd", "1"],
    ["workerd", ""],
    ["node", "2"],
  ] as const)
    expect(readSettings(["--edge", edge], { SERVICE_PROCESSES: count }).edge).toBe(edge);
});

test("databases give free pages back where that is quick, always or never", () => {
  expect([undefined, "1", "0"].map((given) => readSettings([], { SERVICE_COMPACT: given }).compaction)).toEqual([
    "quick",
    "always",
    "never",
  ]);
  expect(() => readSettings([], { SERVICE_COMPACT: "yes" })).toThrow('SERVICE_COMPACT is "yes": use 1 or 0');
});

test("the heap of the processes with tenants can be bounded as on Cloudflare, in whole MiB", () => {
  expect(readSettings([], {}).heapMib).toBeUndefined();
  expect(readSettings(["--heap", "128"], {}).heapMib).toBe(128);
  for (const given of ["0", "1.5", "128M", "100000"])
    expect(() => readSettings(["--heap", given], {})).toThrow(`--heap is "${given}"`);
});

test("a server keeps its history for ever, whatever wrangler.toml says for deployments, unless its operator says else", () => {
  const declared = {
    SERVICE_HISTORY_MAX_GB: "10",
    SERVICE_HISTORY_KEEP_DAYS: "90",
    SERVICE_HISTORY_KEEP_TEXTS_DAYS: "30",
  };
  const kept = (env: NodeJS.ProcessEnv) => ({ ...declared, ...passedEnvironment(declared, env) });
  expect(historyDefaultsOf(kept({}))).toEqual({ keep_days: null, keep_texts_days: null });
  expect(boundsOf(kept({}) as unknown as TenantEnv).historyBytes).toBeNull();
  const given = kept({ SERVICE_HISTORY_KEEP_DAYS: "7", SERVICE_HISTORY_MAX_GB: "0.5" });
  expect(historyDefaultsOf(given)).toEqual({ keep_days: 7, keep_texts_days: null });
  expect(boundsOf(given as unknown as TenantEnv).historyBytes).toBe(5e8);
});

test("a file with certificate authorities is read as Node reads it, and refused where it has none that can be used", () => {
  const file = path.join(folder.path, "ca.pem");
  const readAs = (text: string) => {
    writeFileSync(file, text);
    return readExtraCertificates({ NODE_EXTRA_CA_CERTS: file });
  };
  const two = rootCertificates.slice(0, 2);
  expect(readAs(`# ours\n${two.join("\n# another\n")}\n`)).toEqual(two);
  expect(readExtraCertificates({})).toEqual([]);
  const broken = "-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----";
  expect(() => readAs("")).toThrow(`NODE_EXTRA_CA_CERTS: ${file} has no certificate in PEM`);
  expect(() => readAs(`${two[0]}\n${broken}`)).toThrow("has a certificate (number 2) that cannot be read");
  expect(() => readExtraCertificates({ NODE_EXTRA_CA_CERTS: `${file}.none` })).toThrow(/none cannot be read: ENOENT/);
});

const read = (files: Record<string, string>): Promise<Record<string, string>> => {
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder.path, name), text);
  return readExtraCatalog({ SERVICE_CATALOG_DIR: folder.path });
};

test("good files reach the edge as they are", async () => {
  const { SERVICE_CATALOG_FILES } = await read({ "acme.yaml": GOOD, "notes.txt": "not a provider" });
  expect(loadProviders(SERVICE_CATALOG_FILES).get("acme")?.list_url).toBe("https://api.acme.example/models");
  expect(await readExtraCatalog({})).toEqual({});
});

test.each([
  [
    "a private address",
    { "a.yaml": GOOD.replace("api.acme.example", "127.0.0.1") },
    "a.yaml:2: list_url: must have a host name",
  ],
  ["plain http", { "a.yaml": GOOD.replace("https", "http") }, "a.yaml:2: list_url: must begin with https://"],
  ["no YAML", { "a.yaml": "provider: [" }, "a.yaml:1: "],
  ["one provider twice", { "a.yaml": GOOD, "b.yaml": GOOD }, "b.yaml:1: provider: acme is already described by a.yaml"],
])("a folder with %s is refused by file and line", async (_what, files, problem) => {
  const reading = read(files);
  await expect(reading).rejects.toThrow(problem);
  await expect(reading).rejects.toThrow(`(${folder.path})`);
});

test("all mistakes are told at once", async () => {
  const reading = read({ "a.yaml": "{", "b.yaml": GOOD.replace("id: id", "name: id") });
  await expect(reading).rejects.toThrow(/a\.yaml:1: .*\n.*b\.yaml:4: fields\.id: /s);
});

test("a folder that is not there, a folder in a file's place and more than fits are told as such", async () => {
  await expect(readExtraCatalog({ SERVICE_CATALOG_DIR: `${folder.path}/none` })).rejects.toThrow(
    /none cannot be read: /,
  );
  const large = (name: string): string => `${GOOD.replace("acme", name)}# ${"x".repeat(60_000)}\n`;
  await expect(read({ "a.yaml": large("a"), "b.yaml": large("b"), "c.yaml": large("c") })).rejects.toThrow("120 KiB");
  mkdirSync(path.join(folder.path, "d.yaml"));
  await expect(read({})).rejects.toThrow(/d\.yaml cannot be read: EISDIR/);
});
