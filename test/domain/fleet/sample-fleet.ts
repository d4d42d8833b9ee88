// Fleets, requests and policies for tests of routing, fixed and random.

import fc from "fast-check";
import { DEFAULT_WEIGHTS, STRATEGIES, type Weights } from "../../../domain/config.ts";
import { Fleet, type Member } from "../../../domain/fleet/fleet.ts";
import type { Opening } from "../../../domain/fleet/hours.ts";
import { type Machine, machineOf, UNKNOWN_MACHINE } from "../../../domain/fleet/machine.ts";
import { modelSetOf } from "../../../domain/fleet/model-set.ts";
import type { OfferedModels, Outcome, Worker } from "../../../domain/fleet/worker.ts";
import { choose } from "../../../domain/routing/choice.ts";
import type { RoutePolicy, RouteRequest } from "../../../domain/routing/filter.ts";
import type { Api } from "../../../domain/words/api.ts";
import { PRIORITIES, TIERS } from "../../../domain/words/requirements.ts";
import { SCORE_PARTS } from "../../../domain/words/score-part.ts";
import { NOON } from "../job/sample-jobs.ts";

export const PROVIDERS = ["openai", "anthropic", "local", "echo"];
export const TAGS = ["gpu", "eu", "a100"];
export const MODELS = ["small", "large", "large:latest", "echo"];
export const OFFLINE_AFTER_MS = 60_000;

/** A worker's record, with the names of its models. */
export type Given = Partial<Omit<Worker, keyof OfferedModels> & OfferedModels>;

export const worker = ({ models = null, runtimeModels = null, ...offer }: Given = {}): Worker => ({
  instance: "w1",
  provider: "openai",
  tagList: (offer.tags ?? []).join(","),
  tags: [],
  models: models === null ? null : modelSetOf(models),
  tier: null,
  version: null,
  concurrency: 1,
  unavailable: null,
  busy: null,
  apis: [],
  runtimeModels: runtimeModels === null ? null : modelSetOf(runtimeModels),
  machine: null,
  viaSocket: false,
  hasHadLine: false,
  keyId: null,
  registeredAt: NOON,
  lastHeartbeatAt: NOON,
  pause: null,
  opening: null,
  isHalted: false,
  resumedEpoch: 0,
  confirmedHalt: 0,
  outcomes: [],
  isEdge: false,
  expiredLeases: 0,
  rests: 0,
  missingModels: [],
  trial: null,
  provedAt: null,
  lastCompletedAt: null,
  ...offer,
});

/** Hours that are open before noon, or from noon on, with the state before an instant. */
const openFrom = (isOpen: boolean, changesAt: number | null): Opening => ({
  hours: isOpen ? "00:00-12:00" : "12:00-24:00",
  timezone: "UTC",
  isOpen,
  sinceAt: 0,
  changesAt,
  words: "outside its hours until 00:00 UTC",
});

/** A worker in the fleet's memory, with what only memory knows of it. */
export interface Spec extends Given {
  readonly load?: number;
  readonly isConnected?: boolean;
  readonly isClaiming?: boolean;
  readonly isLockedOut?: boolean;
  readonly lastTurn?: number;
  /** How long ago its socket answered a ping that memory did not see. */
  readonly socketAgeMs?: number | null;
}

export const fleetOf = (specs: readonly Spec[], builtAt = NOON): Fleet => {
  const fleet = new Fleet();
  for (const spec of specs) {
    const { load = 0, lastTurn, socketAgeMs: _, ...more } = spec;
    const { isConnected = false, isClaiming = false, isLockedOut = false, ...offer } = more;
    const member = fleet.put(worker(offer), builtAt);
    if (load > 0) fleet.addLoad(member.worker.instance, member.worker.provider, load);
    fleet.noteReach(member.worker.instance, { isConnected, isClaiming, isLockedOut });
    Object.assign(member, { lastTurn: lastTurn ?? 0 });
    fleet.columns.lastTurn[member.slot] = lastTurn ?? 0;
  }
  return fleet;
};

export const request = (asked: Partial<RouteRequest> = {}): RouteRequest => ({
  batch: null,
  provider: null,
  model: null,
  tags: [],
  excludedProviders: [],
  avoidedWorkers: [],
  api: null,
  tier: null,
  urgency: "normal",
  ...asked,
});

export const policy = (given: Partial<RoutePolicy> = {}): RoutePolicy => ({
  nowAt: NOON,
  offlineAfterMs: OFFLINE_AFTER_MS,
  strategy: "score",
  chain: [],
  weights: DEFAULT_WEIGHTS,
  closedProviders: new Map(),
  edgeAfterMs: new Map(),
  isEchoAside: true,
  priceOf: () => null,
  lastSignOf: (member) => member.lastSeenAt,
  ...given,
});

/** What the sockets know, for a policy. */
const signsOf =
  (specs: readonly Spec[], nowAt: number) =>
  (member: Member): number => {
    const ageMs = specs.find((spec) => spec.instance === member.worker.instance)?.socketAgeMs ?? null;
    return ageMs === null ? member.lastSeenAt : Math.max(member.lastSeenAt, nowAt - ageMs);
  };

export const outcomes = (completed: number, failed: number, code = "provider_error"): Outcome[] => [
  ...Array.from({ length: completed }, (_, at) => ({
    jobId: `c${at}`,
    outcome: "completed" as const,
    code: null,
    at: NOON,
  })),
  ...Array.from({ length: failed }, (_, at) => ({ jobId: `f${at}`, outcome: "failed" as const, code, at: NOON })),
];

const rarely = (chance = 4) => fc.nat({ max: chance }).map((drawn) => drawn === 0);
const ageMs = fc.constantFrom(0, 0, 0, 20_000, OFFLINE_AFTER_MS, OFFLINE_AFTER_MS + 1, 300_000);

/** The machine of a worker that says which models are in its memory. */
export const withLoaded = (models: readonly string[], maxLoaded: number | null = null): Machine | null => {
  const loaded = models.map((model) => ({ model, vramMb: null, expiresAt: null }));
  return machineOf({ ...UNKNOWN_MACHINE, loaded, maxLoaded });
};

const offered = {
  provider: fc.constantFrom(...PROVIDERS),
  tags: fc.oneof(fc.constant(TAGS), fc.subarray(TAGS)),
  models: fc.option(fc.subarray(MODELS)),
  runtimeModels: fc.option(fc.subarray(MODELS)),
  machine: fc.option(
    fc.subarray(MODELS).map((models) => withLoaded(models)),
    { nil: null },
  ),
  missingModels: fc.subarray([
    { key: "small", untilAt: NOON + 1 },
    { key: "large", untilAt: NOON },
  ]),
  apis: fc.oneof(fc.constant<Api[]>(["messages", "responses"]), fc.subarray<Api>(["messages", "responses"])),
  tier: fc.constantFrom(null, ...TIERS),
  lastTurn: fc.nat({ max: 4 }),
  outcomes: fc.tuple(fc.nat({ max: 3 }), fc.nat({ max: 3 })).map(([well, badly]) => outcomes(well, badly)),
};

/** A worker that would take a job, as most would, so that there is a choice. */
const willing = fc.record({
  ...offered,
  concurrency: fc.integer({ min: 3, max: 4 }),
  load: fc.nat({ max: 2 }),
  lastHeartbeatAt: fc.constantFrom(NOON, NOON - 20_000),
});

const anyhow = fc.record({
  ...offered,
  concurrency: fc.integer({ min: 0, max: 3 }),
  load: fc.constantFrom(0, 0, 1, 2, 4),
  lastHeartbeatAt: ageMs.map((age) => NOON - age),
  socketAgeMs: fc.option(ageMs, { freq: 2 }),
  viaSocket: fc.boolean(),
  isConnected: fc.boolean(),
  isClaiming: rarely(),
  isLockedOut: rarely(9),
  pause: fc.constantFrom(
    null,
    null,
    null,
    { reason: "by hand", untilAt: null },
    { reason: "over", untilAt: NOON },
    { reason: "for a while", untilAt: NOON + 1 },
  ),
  isHalted: rarely(9),
  unavailable: fc.constantFrom(null, null, null, "its runtime does not answer"),
  opening: fc.constantFrom(
    null,
    null,
    null,
    openFrom(false, null),
    openFrom(true, NOON + 1),
    openFrom(false, NOON + 1),
    openFrom(true, NOON),
    openFrom(false, NOON),
  ),
  expiredLeases: fc.constantFrom(0, 0, 0, 1, 2),
});

/** Workers w0, w1 … in a shuffled order of registration. */
export const specs: fc.Arbitrary<Spec[]> = fc
  .array(fc.oneof<fc.Arbitrary<Spec>[]>(willing, anyhow), { maxLength: 12, size: "max" })
  .chain((given) =>
    fc.shuffledSubarray(
      given.map((one, at) => ({ ...one, instance: `w${at}` })),
      { minLength: given.length },
    ),
  );

export const requests: fc.Arbitrary<RouteRequest> = fc.record({
  batch: fc.constant(null),
  provider: fc.constantFrom(null, null, null, ...PROVIDERS),
  model: fc.constantFrom(null, null, ...MODELS),
  tags: fc.oneof(
    { weight: 2, arbitrary: fc.subarray(TAGS, { maxLength: 1 }) },
    { weight: 1, arbitrary: fc.subarray(TAGS) },
  ),
  avoidedWorkers: fc.oneof(
    { weight: 3, arbitrary: fc.constant<string[]>([]) },
    { weight: 1, arbitrary: fc.subarray(["w0", "w1", "w2", "w3", "gone"]) },
  ),
  api: fc.constantFrom(null, null, null, "messages" as const),
  excludedProviders: fc.oneof(
    { weight: 3, arbitrary: fc.constant<string[]>([]) },
    { weight: 1, arbitrary: fc.subarray(PROVIDERS) },
  ),
  tier: fc.constantFrom(null, ...TIERS),
  urgency: fc.constantFrom(...PRIORITIES),
});

const weights = fc
  .tuple(...SCORE_PARTS.map((part) => fc.nat({ max: 20 }).map((weight) => [part, weight] as const)))
  .map((entries) => Object.fromEntries(entries) as unknown as Weights);

const prices: fc.Arbitrary<Record<string, number>> = fc.dictionary(
  fc.constantFrom(...PROVIDERS),
  fc.constantFrom(0, 500_000_000, 3_000_000_000),
  {
    maxKeys: 3,
  },
);

export const policies: fc.Arbitrary<RoutePolicy> = fc
  .record({
    strategy: fc.constantFrom(...STRATEGIES),
    chain: fc.shuffledSubarray(PROVIDERS, { minLength: 1 }),
    weights: fc.oneof({ weight: 3, arbitrary: fc.constant(DEFAULT_WEIGHTS) }, { weight: 1, arbitrary: weights }),
    closed: fc.oneof(
      { weight: 2, arbitrary: fc.constant<string[]>([]) },
      { weight: 1, arbitrary: fc.subarray(PROVIDERS) },
    ),
    prices,
    isEchoAside: fc.boolean(),
  })
  .map(({ closed, prices: known, ...given }) =>
    policy({
      ...given,
      closedProviders: new Map(closed.map((provider) => [provider, `provider ${provider} backs off`])),
      priceOf: (provider) => known[provider] ?? null,
    }),
  );

export const chosenOf = (fleet: Fleet, asked: RouteRequest, rules: RoutePolicy): string | null =>
  choose(fleet, asked, rules)?.member.worker.instance ?? null;

/** Built a moment ago, so a pause may have ended since. */
export const situation = (given: readonly Spec[], rules: RoutePolicy) => ({
  fleet: fleetOf(given, NOON - 1),
  rules: { ...rules, lastSignOf: signsOf(given, NOON) },
});
