// The cost of one choice among many workers, with half of all capacity in use, and its ratio to the cheapest durable
// insert. The only part that imports the rules of domain/, because no request shows a microsecond.

import { DEFAULT_WEIGHTS } from "../../domain/config.ts";
import { Fleet } from "../../domain/fleet/fleet.ts";
import { UNKNOWN_MACHINE } from "../../domain/fleet/machine.ts";
import { registerWorker, type Worker } from "../../domain/fleet/worker.ts";
import { choose } from "../../domain/routing/choice.ts";
import type { RoutePolicy, RouteRequest } from "../../domain/routing/filter.ts";
import { figure } from "../figures.ts";
import type { Bench } from "../plan.ts";
import { INSERT } from "./insert.ts";

const TAGS = 40;
const PROVIDERS = 20;
const CONCURRENCY = 4;
const MIN_MS = 400;
const INSERT_CLIENTS = 32;

const NOW_AT = Date.UTC(2030, 0, 1);
const policy: RoutePolicy = {
  nowAt: NOW_AT,
  offlineAfterMs: 60_000,
  strategy: "score",
  chain: [],
  weights: DEFAULT_WEIGHTS,
  closedProviders: new Map(),
  edgeAfterMs: new Map(),
  isEchoAside: false,
  priceOf: () => null,
  lastSignOf: (member) => member.lastSeenAt,
};

function fleetOf(count: number): Fleet {
  const fleet = new Fleet();
  for (let index = 0; index < count; index += 1) {
    const tags = [`tag-${index % TAGS}`, `tag-${(index * 7 + 1) % TAGS}`, `site-${index % 3}`];
    const report = {
      instance: `worker-${index}`,
      provider: `provider-${index % PROVIDERS}`,
      tagList: tags.join(","),
      tags,
      models: null,
      tier: null,
      version: null,
      concurrency: CONCURRENCY,
      unavailable: null,
      apis: [],
      runtimeModels: null,
      machine: UNKNOWN_MACHINE,
      jobs: null,
    };
    fleet.put(registerWorker(report, null, { keyId: null, viaSocket: false, isFull: false }, NOW_AT), NOW_AT);
    // Loads from zero to full, half of all capacity on average.
    for (let load = 0; load < (index * 3) % (CONCURRENCY + 1); load += 1)
      fleet.addLoad(report.instance, report.provider, 1);
  }
  return fleet;
}

const asking = (provider: string | null, tags: string[]): RouteRequest => ({
  provider,
  model: null,
  api: null,
  tags,
  excludedProviders: [],
  avoidedWorkers: [],
  batch: null,
  tier: null,
  urgency: "normal",
});

const REQUESTS: Readonly<Record<string, readonly RouteRequest[]>> = {
  "a tag and a provider": Array.from({ length: TAGS }, (_, n) => asking(`provider-${n % PROVIDERS}`, [`tag-${n}`])),
  "anything goes": [asking(null, [])],
};

/** Each choice is assigned and an earlier job ends, so the fleet stays half busy and choices differ. */
function microsecondsPerChoice(fleet: Fleet, requests: readonly RouteRequest[]): number {
  const held: Worker[] = [];
  let choices = 0;
  const step = () => {
    const request = requests[choices % requests.length];
    const choice = request === undefined ? null : choose(fleet, request, policy);
    choices += 1;
    if (choice === null) return;
    const { instance, provider } = choice.member.worker;
    fleet.addLoad(instance, provider, 1);
    held.push(choice.member.worker);
    const freed = held.length > 1 ? held.shift() : undefined;
    if (freed !== undefined) fleet.addLoad(freed.instance, freed.provider, -1);
  };
  for (const warmUpEndsAt = performance.now() + MIN_MS / 2; performance.now() < warmUpEndsAt; ) step();
  choices = 0;
  const startedAt = performance.now();
  while (performance.now() - startedAt < MIN_MS) for (let burst = 0; burst < 10; burst += 1) step();
  return ((performance.now() - startedAt) * 1000) / choices;
}

export async function choosing({ figures, sizes, say }: Bench): Promise<void> {
  const inserts = figures.find(({ what, clients }) => what === INSERT && clients === INSERT_CLIENTS)?.floor ?? null;
  for (const count of sizes.workers) {
    const fleet = fleetOf(count);
    for (const [name, requests] of Object.entries(REQUESTS)) {
      const microseconds = microsecondsPerChoice(fleet, requests);
      const share = inserts === null ? null : (microseconds * inserts) / 1e6;
      say({
        ...figure({ part: "choosing", what: `${count} workers: ${name}`, unit: "µs/choice", signalbox: microseconds }),
        ratio: share,
        note: share === null ? "" : "ratio to a durable insert",
      });
    }
  }
}
