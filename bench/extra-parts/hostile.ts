// What one hostile key can do to another tenant: each attack on a server of its own. The other tenant's dispatch (p99)
// and GET /health alone and beside the attack, the memory of each process at its peak and after the attack, and
// whether the attacked tenant can still be deleted. `--heap 128` gives the objects the heap of an isolate on Cloudflare:
// past it their process ends, and the other tenant's calls fail.

import { once } from "node:events";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { Connection } from "../connection.ts";
import { type Figure, figure } from "../figures.ts";
import { ATTACKS, type AttackName, type Target } from "../hostile/attacks.ts";
import { percentile } from "../load.ts";
import type { Served } from "../measure/processes.ts";
import type { Bench } from "../plan.ts";
import { createTenant, deleteTenant, startSignalbox, type Tenant } from "../signalbox.ts";

/** The first calls of a server take two or three times as long: they would be the p99 alone, but not beside. */
const WARM_UP_MS = 3_000;
/** As long alone as beside the attack: a p99 of few calls is their slowest. */
const WATCHED_MS = 15_000;
const CALM_AFTER_MS = 10_000;
const LOOK_EVERY_MS = 100;
const SAMPLE_EVERY_MS = 15;
const MIB = 1024 * 1024;

export const hostile = async ({ folder, hostileArgs, attack, say }: Bench): Promise<void> => {
  const names = (Object.keys(ATTACKS) as AttackName[]).filter((name) => name.includes(attack));
  for (const [at, name] of names.entries()) {
    const served = await startSignalbox(path.join(folder, `hostile-${at}`), undefined, hostileArgs);
    try {
      for (const one of await measure(served, name)) say(one);
    } finally {
      await served.stop();
    }
  }
};

const measure = async (served: Served, name: AttackName): Promise<Figure[]> => {
  const victim = await createTenant(served.port);
  const attacked = await createTenant(served.port);
  const target = await keyOf(attacked, name);
  await watch(victim, WARM_UP_MS);
  const alone = await watch(victim, WATCHED_MS);
  const memory = new Memory(served);
  const { seen, answers } = await beside(name, target, () => watch(victim, WATCHED_MS));
  const peak = memory.peak();
  await pause(CALM_AFTER_MS);
  memory.stop();
  const deleted = await deleteTenant(served.port, attacked.name);
  const after = served.residentByProcess();
  const { clients } = ATTACKS[name];
  const row = { part: "hostile", clients };
  return [
    figure({
      ...row,
      what: `dispatch of another beside ${name}, p99`,
      unit: "ms",
      floor: percentile(alone.dispatch, 0.99),
      signalbox: percentile(seen.dispatch, 0.99),
      note: `to alone; ${seen.failed} failed; attack: ${answers}`,
    }),
    figure({
      ...row,
      what: `GET /health beside ${name}, slowest`,
      unit: "ms",
      floor: Math.max(...alone.health),
      signalbox: Math.max(...seen.health),
      note: "to alone",
    }),
    figure({
      ...row,
      what: `memory beside ${name}`,
      unit: "MiB",
      signalbox: sum(peak) / MIB,
      note: `peaks ${shown(peak)}; ${CALM_AFTER_MS / 1000} s after ${shown(after)}; the tenant's deletion ${deleted}`,
    }),
  ];
};

const sum = (found: ReadonlyMap<string, number>): number => [...found.values()].reduce((all, one) => all + one, 0);

const shown = (found: ReadonlyMap<string, number>): string =>
  [...found].map(([name, bytes]) => `${name} ${Math.round(bytes / MIB)}`).join(", ");

const keyOf = async ({ port, authorization }: Tenant, name: AttackName): Promise<Target> => {
  const connection = await Connection.open(port, authorization);
  const made = await connection.call("POST", "/api/keys", { name: "hostile", role: ATTACKS[name].role });
  connection.close();
  return { port, authorization: `Bearer ${(made as { key: string }).key}` };
};

/** The largest resident memory of each process since the start. */
class Memory {
  readonly #served: Served;
  readonly #peaks = new Map<string, number>();
  readonly #looking: NodeJS.Timeout;

  constructor(served: Served) {
    this.#served = served;
    this.#looking = setInterval(() => this.#look(), LOOK_EVERY_MS);
  }

  #look(): void {
    for (const [name, bytes] of this.#served.residentByProcess())
      this.#peaks.set(name, Math.max(bytes, this.#peaks.get(name) ?? 0));
  }

  peak(): ReadonlyMap<string, number> {
    this.#look();
    return new Map(this.#peaks);
  }

  stop(): void {
    clearInterval(this.#looking);
  }
}

const beside = async (name: AttackName, target: Target, during: () => Promise<Seen>) => {
  const thread = new Worker(path.join(import.meta.dirname, "..", "hostile", "thread.ts"), {
    workerData: { name, target },
  });
  const seen = await during();
  thread.postMessage("end");
  const [counts] = (await once(thread, "message")) as [Record<string, number>];
  const answers = Object.entries(counts).map(([outcome, count]) => `${count} × ${outcome}`);
  return { seen, answers: answers.join(", ") };
};

/** In ms; a call that failed counts as lasting the whole time that was measured. */
interface Seen {
  readonly dispatch: number[];
  readonly health: number[];
  failed: number;
}

const watch = async ({ port, authorization }: Tenant, forMs: number): Promise<Seen> => {
  const seen: Seen = { dispatch: [], health: [], failed: 0 };
  const untilAt = performance.now() + forMs;
  const timed = async (into: number[], call: (connection: Connection) => Promise<unknown>, key: string | null) => {
    const connection = await Connection.open(port, key).catch(() => null);
    while (connection !== null && performance.now() < untilAt) {
      const startedAt = performance.now();
      try {
        await call(connection);
        into.push(performance.now() - startedAt);
      } catch {
        seen.failed += 1;
        into.push(forMs);
        break;
      }
      await pause(SAMPLE_EVERY_MS);
    }
    connection?.close();
    if (performance.now() < untilAt) await pause(SAMPLE_EVERY_MS).then(() => timed(into, call, key));
  };
  const presence = { instance: "beside", provider: "beside", status: "idle", concurrency: 1000 };
  const dispatch = async (connection: Connection): Promise<void> => {
    const made = await connection.call("POST", "/dispatch", { prompt: "beside", provider: "beside" });
    const { id, lease } = made as { id: string; lease: number };
    await connection.call("POST", `/api/jobs/${id}/complete`, { lease, result: "done" });
  };
  const first = await Connection.open(port, authorization);
  await first.call("POST", "/presence", presence);
  first.close();
  await Promise.all([
    timed(seen.dispatch, dispatch, authorization),
    timed(seen.health, (connection) => connection.call("GET", "/health"), null),
  ]);
  return seen;
};
