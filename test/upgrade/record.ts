// Records a fixture: a server of this checkout on an empty folder, driven over the API into every state, read, and
// killed in the middle of it. The root key and the signing secret are public.

import { writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { VERSION } from "../../contract/words/version.ts";
import { startSelfHosted } from "../support/self-hosted.ts";
import { type Client, clientOf } from "./client.ts";
import { tenantFiles, use } from "./databases.ts";
import { type Expectations, FIXTURE_ENVIRONMENT, type Read, type Spent } from "./fixture.ts";
import { makeLater } from "./later-tenant.ts";
import {
  makeHalted,
  makeLapsing,
  makeScheduled,
  makeUndrained,
  prepareUndrained,
  readScheduled,
} from "./other-tenants.ts";
import { makeSteady } from "./steady-tenant.ts";

/** Files as a first start would have created them, so that the fixture needs no environment. */
const SECRETS = {
  "root.key": "test-only-root-key-of-an-upgrade-fixture",
  "signing.secret": "test-only-signing-secret-of-an-upgrade-fixture",
};
const NOTE =
  "Keys of throw-away tenants, made with a root key and a signing secret that say so: none of them is secret.";

/** Fields that change with time, left out of the expectations. */
const PASSING = new Set([
  "last_used_at",
  "last_heartbeat",
  "connected",
  "current_load",
  "results_url",
  "expires_at",
  "waiting_reason",
  "last_run_at",
  "next_runs",
]);
/** These also change, unless they are null: a paused schedule has no next run. */
const PASSING_UNLESS_NULL = new Set(["next_run_at"]);
/** These of a worker: it falls silent, has hours, and is judged by its newest jobs. */
const PASSING_OF_WORKERS = new Set(["status", "unavailable", "failure_rate"]);

const isLasting = (name: string, value: unknown, isWorker: boolean): boolean =>
  !PASSING.has(name) &&
  !(PASSING_UNLESS_NULL.has(name) && value !== null) &&
  !(isWorker && PASSING_OF_WORKERS.has(name));

const lasting = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(lasting);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([name, one]) => isLasting(name, one, "instance" in value));
  return Object.fromEntries(kept.map(([name, one]) => [name, lasting(one)]));
};

const recordReads = async (reads: readonly { client: Client; path: string }[]): Promise<Read[]> => {
  const recorded: Read[] = [];
  for (const { client, path } of reads)
    recorded.push({ key: client.key, path, expect: lasting(await client.get(path)) });
  return recorded;
};

/** A job that is open for a minute leaves the journal for tables: the fixture has jobs in both. */
const UNTIL_IN_TABLES_MS = 90_000;
const NANO = 1e9;

interface Priced {
  readonly provider: string;
  readonly models: readonly { readonly model: string | null; readonly usd: number; readonly jobs: number }[];
}

const spentBy = async (admin: Client): Promise<Spent[]> => {
  const { providers } = await admin.get("/api/cost/providers?period=month");
  return (providers as Priced[]).flatMap(({ provider, models }) =>
    models.map(({ model, usd, jobs }) => ({ provider, model: model ?? "", nano_usd: Math.round(usd * NANO), jobs })),
  );
};

/** Whether history was incomplete when the server was killed. */
const isUndrained = (dataDir: string, tenant: string): boolean => {
  const file = tenantFiles(dataDir).get(tenant);
  if (file === undefined) return false;
  return use(file, (db) => db.prepare("SELECT COUNT(*) AS count FROM outbox").get()?.count !== 0);
};

/** Leaves the killed server's folder behind and returns what was true when it was killed. */
export const record = async (dataDir: string): Promise<Expectations> => {
  for (const [name, value] of Object.entries(SECRETS)) {
    writeFileSync(path.join(dataDir, name), `${value}\n`, { mode: 0o600 });
  }
  const server = await startSelfHosted(dataDir, { env: FIXTURE_ENVIRONMENT });
  try {
    const root = clientOf(server.url, SECRETS["root.key"]);
    const tenant = async (name: string) =>
      clientOf(server.url, (await root.post("/admin/tenants", { tenant: name })).admin_key);
    const last = await tenant("undrained");
    await prepareUndrained(last);
    const ticking = await tenant("scheduled");
    await makeScheduled(ticking);
    const lapsed = await tenant("lapsing");
    const { steady, ended, reads } = await makeSteady(server.url, await tenant("steady"));
    await pause(UNTIL_IN_TABLES_MS);
    const halted = await makeHalted(await tenant("halted"));
    const { later, reads: laterReads } = await makeLater(await tenant("later"), (key) => clientOf(server.url, key));
    const known = await recordReads([
      ...reads,
      ...laterReads,
      { client: root, path: "/admin/tenants" },
      ...haltedReads(server.url, halted),
    ]);
    const spent = await spentBy(clientOf(server.url, steady.admin_key));
    const lapsing = await makeLapsing(lapsed);
    const scheduled = await readScheduled(ticking);
    const job = await makeUndrained(last);
    await server.kill();
    if (!isUndrained(dataDir, "undrained")) throw new Error("history was faster than the kill: record again");
    return {
      note: NOTE,
      version: VERSION,
      recorded_at: new Date().toISOString(),
      reads: known,
      ended_keys: ended,
      steady: { tenant: "steady", ...steady, spent },
      lapsing,
      halted,
      scheduled,
      later,
      undrained: { tenant: "undrained", key: last.key, job },
    };
  } finally {
    await server.kill();
  }
};

const haltedReads = (url: string, { key, waiting, worker, paused_by_hand }: Expectations["halted"]) => {
  const paths = [
    ...waiting.map((id) => `/api/jobs/${id}`),
    ...[worker, paused_by_hand].map((instance) => `/api/workers/${instance}`),
  ];
  return paths.map((path) => ({ client: clientOf(url, key), path }));
};
