// What one tenant, or a client without a key, can do to another tenant: the other's dispatch and killswitch alone,
// during each flood, and 5 s after it.

import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { shareOf } from "../../domain/tenant/share.ts";
import { Connection } from "../connection.ts";
import { type Figure, figure } from "../figures.ts";
import { type Flood, flooded } from "../hostile/flood.ts";
import { percentile } from "../load.ts";
import type { Bench } from "../plan.ts";
import { createTenant, startSignalbox, type Tenant } from "../signalbox.ts";
import { hostile } from "./hostile.ts";

type Kind = Omit<Flood, "port" | "authorization"> & { readonly as: "tenant" | "nobody" | "forger" };

const LARGE = "x".repeat(1024 * 1024 - 100);
const FLOOD_MS = 5_000;
const SETTLE_MS = 500;
const CALM_AFTER_MS = 5_000;
const SAMPLE_EVERY_MS = 15;
const KILLSWITCH_EVERY = 10;
const SEEDED_JOBS = 1_000;
const SEEDED_A_BATCH = 200;
const TAG = "beside";

const small = (count: number) => ({ jobs: Array.from({ length: count }, (_, at) => ({ prompt: `job ${at}` })) });

const FLOODS = {
  "1 MiB jobs": {
    as: "tenant",
    clients: 8,
    method: "POST",
    path: "/api/jobs",
    body: { prompt: "large", input: LARGE },
  },
  "batches of 500": { as: "tenant", clients: 4, method: "POST", path: "/api/jobs/batch", body: small(500) },
  "lists of 200": { as: "tenant", clients: 8, method: "GET", path: "/api/jobs?limit=200", body: undefined },
  "1 MiB sign-ins": { as: "nobody", clients: 8, method: "POST", path: "/session", body: { key: LARGE } },
  "forged keys": { as: "forger", clients: 32, method: "GET", path: "/api/jobs", body: undefined },
} satisfies Readonly<Record<string, Kind>>;

/** Floods that occupy a tenant process: measured again with the two tenants in different processes. */
const FLOODS_APART = ["1 MiB jobs", "batches of 500"] as const;

/** Latency in ms of a dispatch that is answered with its worker, and of a killswitch engaged and cleared. */
interface Seen {
  readonly dispatch: number[];
  readonly killswitch: number[];
}

const timed = async (call: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await call();
  return performance.now() - startedAt;
};

const watch = async ({ port, authorization }: Tenant, forMs: number): Promise<Seen> => {
  const connection = await Connection.open(port, authorization);
  const seen: Seen = { dispatch: [], killswitch: [] };
  const untilAt = performance.now() + forMs;
  const presence = { instance: "beside", provider: "beside", tags: TAG, concurrency: 1000 };
  for (let round = 0; performance.now() < untilAt; round += 1) {
    if (round % KILLSWITCH_EVERY === 0) {
      const halt = { level: 1, reason: "flood" };
      seen.killswitch.push(await timed(() => connection.call("POST", "/killswitch", halt)));
      await connection.call("DELETE", "/killswitch?resume_all=true");
      await connection.call("POST", "/presence", presence);
    }
    const job = { prompt: "beside", tags: [TAG] };
    let made: unknown;
    seen.dispatch.push(
      await timed(async () => {
        made = await connection.call("POST", "/dispatch", job);
      }),
    );
    const { id, lease } = made as { id: string; lease: number };
    await connection.call("POST", `/api/jobs/${id}/complete`, { lease, result: "done" });
    await pause(SAMPLE_EVERY_MS);
  }
  connection.close();
  return seen;
};

const seedHistory = async ({ port, authorization }: Tenant): Promise<void> => {
  const connection = await Connection.open(port, authorization);
  for (let made = 0; made < SEEDED_JOBS; made += SEEDED_A_BATCH)
    await connection.call("POST", "/api/jobs/batch", small(SEEDED_A_BATCH));
  connection.close();
};

export const flood = async (bench: Bench): Promise<void> => {
  const {
    signalbox: { port },
    folder,
    say,
  } = bench;
  await hostile(bench);
  const victim = await createTenant(port);
  for (const [name, kind] of Object.entries(FLOODS)) {
    for (const one of await measure(victim, await createTenant(port), name, kind)) say(one);
  }
  const apart = await startSignalbox(path.join(folder, "apart"), undefined, [], { SERVICE_PROCESSES: "2" });
  try {
    const other = await createTenant(apart.port);
    for (const name of FLOODS_APART) {
      const flooder = await tenantElsewhere(apart.port, other);
      for (const one of await measure(other, flooder, `${name}, in another process`, FLOODS[name])) say(one);
    }
  } finally {
    await apart.stop();
  }
};

/** Another tenant, in a process that does not have this one. */
const tenantElsewhere = async (port: number, { name }: Tenant): Promise<Tenant> => {
  const made = await createTenant(port);
  return shareOf(made.name, 2) === shareOf(name, 2) ? tenantElsewhere(port, { ...made, name }) : made;
};

const measure = async (victim: Tenant, flooder: Tenant, name: string, kind: Kind): Promise<Figure[]> => {
  const { as, ...request } = kind;
  await seedHistory(flooder);
  await pause(SETTLE_MS);
  const alone = await watch(victim, FLOOD_MS / 2);
  const authorization = { tenant: flooder.authorization, nobody: null, forger: "Bearer sbx_a_forged" }[as];
  const whole = { ...request, port: flooder.port, authorization };
  const { during: seen, answers } = await flooded(whole, () => watch(victim, FLOOD_MS));
  await pause(CALM_AFTER_MS);
  const after = await watch(victim, FLOOD_MS / 5);
  return (["dispatch", "killswitch"] as const).map((what) => {
    const [before, beside, calm] = [alone, seen, after].map((one) => percentile(one[what], 0.5));
    const worst = percentile(seen[what], 0.95).toFixed(0);
    return figure({
      part: "flood",
      what: `${what} of another beside ${name}, p50`,
      clients: request.clients,
      unit: "ms",
      floor: before ?? null,
      signalbox: beside ?? null,
      note: `to alone; p95 ${worst}; 5 s after ${calm?.toFixed(1)}; flood: ${answers}`,
    });
  });
};
