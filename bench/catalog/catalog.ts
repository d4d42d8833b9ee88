// How long a pass over the catalog takes, and whether memory stays flat: 5,000 subscriptions of 300 models each, on a
// D1 on disk, against a provider on the loopback interface. Three rounds: every list is new; every list is the same;
// one model in a hundred has changed. The runtime's memory rises to a plateau whatever runs in it (a loop of plain D1
// reads does the same), so look for growth after that. Run: node bench/catalog/catalog.ts [subscriptions] [models]

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "esbuild";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";

const MIGRATIONS = path.join(import.meta.dirname, "../../migrations");
const PASS_SIZE = 80;
const subscriptionCount = Number(process.argv[2] ?? 5_000);
const modelCount = Number(process.argv[3] ?? 300);

/** A model list in which every hundredth model has the revision in its name. */
const listOf = (subscription: string, revision: number): string => {
  const data = Array.from({ length: modelCount }, (_, index) => ({
    id: `vendor/model-${index}-of-${subscription}`,
    name: index % 100 === 0 ? `Model ${index}, revision ${revision}` : `Model ${index}`,
    context: 131_072,
    created: Date.now(),
  }));
  return JSON.stringify({ object: "list", data });
};

/** The statements of all migrations, in order. */
const migrations = (): string[] =>
  readdirSync(MIGRATIONS)
    .filter((name) => name.endsWith(".sql"))
    .sort()
    .flatMap((name) => readFileSync(path.join(MIGRATIONS, name), "utf8").split("--> statement-breakpoint"));

/** Resident memory of the runtime started by this process, in MiB; null if `ps` does not say. */
const runtimeMemoryMib = (): number | null => {
  try {
    const rows = execFileSync("ps", ["-eo", "ppid=,rss=,comm="], { encoding: "utf8" }).split("\n");
    const own = rows.map((row) => row.trim().split(/\s+/)).find(([parent]) => parent === String(process.pid));
    const rssKib = rows
      .map((row) => row.trim().split(/\s+/))
      .filter(([parent, , command]) => parent === String(process.pid) && command?.startsWith("workerd"))
      .reduce((sum, [, rss]) => sum + Number(rss), 0);
    return own === undefined || rssKib === 0 ? null : Math.round(rssKib / 1024);
  } catch {
    return null;
  }
};

const main = async (): Promise<void> => {
  let revision = 0;
  const provider = createServer((request, response) => {
    const subscription = new URL(request.url ?? "", "http://provider").searchParams.get("subscription") ?? "";
    response.setHeader("content-type", "application/json").end(listOf(subscription, revision));
  });
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
  const folder = await mkdtemp(path.join(tmpdir(), "bench-catalog-"));
  const runtime = await startRuntime(`http://127.0.0.1:${(provider.address() as AddressInfo).port}/models`, folder);
  const call = async (what: string, body?: unknown) => {
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await runtime.dispatchFetch(`http://bench/${what}`, init);
    if (!response.ok) throw new Error(`${what}: ${response.status} ${await response.text()}`);
    return (await response.json()) as { synced: number; failed: number; left: number };
  };
  try {
    await call("schema", migrations());
    await call(`seed?count=${subscriptionCount}`);
    console.log(`${subscriptionCount} subscriptions of ${modelCount} models, ${PASS_SIZE} a pass`);
    await measure("every list is new", call);
    await call("due");
    await measure("every list is the same", call);
    revision = 1;
    await call("due");
    await measure("one model in 100 changed", call);
  } finally {
    await runtime.dispose();
    provider.close();
    await rm(folder, { recursive: true, force: true });
  }
};

type Call = (what: string) => Promise<{ synced: number; failed: number; left: number }>;

const measure = async (name: string, call: Call): Promise<void> => {
  const startedAt = performance.now();
  const passesMs: number[] = [];
  const memory: (number | null)[] = [runtimeMemoryMib()];
  let synced = 0;
  while (synced < subscriptionCount) {
    const passStartedAt = performance.now();
    const report = await call(`pass?count=${PASS_SIZE}`);
    passesMs.push(performance.now() - passStartedAt);
    if (report.synced === 0) throw new Error(`a pass synced nothing: ${JSON.stringify(report)}`);
    synced += report.synced;
    if (passesMs.length % 8 === 0) memory.push(runtimeMemoryMib());
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const sorted = passesMs.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0);
  console.log(
    `${name}: ${synced} syncs in ${seconds.toFixed(1)} s (${Math.round(synced / seconds)}/s);` +
      ` pass p50 ${at(0.5)} ms, max ${at(1)} ms; runtime memory MiB ${memory.join(" ")}`,
  );
};

const startRuntime = async (providerUrl: string, folder: string): Promise<Miniflare> => {
  const bundle = await build({
    entryPoints: [path.join(import.meta.dirname, "catalog-worker.ts")],
    bundle: true,
    format: "esm",
    write: false,
    target: "es2024",
    external: ["cloudflare:*", "node:*"],
  });
  const options = convertV4MiniflareOptions({
    modules: true,
    script: bundle.outputFiles[0]?.text ?? "",
    compatibilityDate: "2026-10-01",
    compatibilityFlags: ["nodejs_compat"],
    d1Databases: { DB: "bench" },
    bindings: { PROVIDER_URL: providerUrl },
  });
  return new Miniflare({ ...options, resourcePersistencePath: folder });
};

await main();
