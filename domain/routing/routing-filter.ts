// The router's filters: whether a worker may have a job. A row states how it refuses one worker, how it narrows the
// whole fleet, and how it explains that no worker is left. All are evaluated; the first that refuses is counted.

import type { Strategy, Weights } from "../config.ts";
import { Bits } from "../fleet/bits.ts";
import { type Fleet, isCutOff, type Member } from "../fleet/fleet.ts";
import { missingUntil, modelKeyOf } from "../fleet/model-name.ts";
import { modelsTaken, withModel } from "../fleet/model-set.ts";
import { ECHO, isOffline, pauseReasonOf, unavailableOf } from "../fleet/worker.ts";
import type { Priority, Requirements, Tier } from "../words/requirements.ts";
import { type BatchRules, leavesRoom } from "./batch-room.ts";
import { chainOf } from "./strategy.ts";
import { heldBySwap, type SwapRules } from "./swapping.ts";

/** What is asked of a worker; `waitingSinceAt` is known if one job is meant, and not its whole group. */
export interface Wanted extends Requirements {
  readonly waitingSinceAt?: number | undefined;
  readonly urgency?: Priority | undefined;
}

export interface RouteRequest extends Wanted {
  readonly tier: Tier | null;
  readonly urgency: Priority;
  /** The job's conversation and the worker of its previous turn; absent without a conversation. */
  readonly session?: { readonly worker: string | null } | undefined;
}

/** The tenant's state for routing, at one instant. */
export interface RoutePolicy {
  readonly nowAt: number;
  readonly offlineAfterMs: number;
  readonly strategy: Strategy;
  readonly chain: readonly string[];
  readonly weights: Weights;
  /** Providers that take no new job now, with the reason: a back-off, or `max_concurrent` reached. */
  readonly closedProviders: ReadonlyMap<string, string>;
  /** Another worker than the built-in echo is alive: echo answers only jobs that ask for it. */
  readonly isEchoAside: boolean;
  /** By provider that the coordinator calls as a fallback, how long a job waits for another worker. */
  readonly edgeAfterMs: ReadonlyMap<string, number>;
  readonly priceOf: (provider: string, model: string | null) => number | null;
  /** Why a worker or a batch may get no line now; absent where no batch is under way. */
  readonly batchRules?: BatchRules;
  /** What waits for which model; absent where nothing is configured for swapping models. */
  readonly swapRules?: SwapRules;
  /** The last sign of life of a worker that memory considers silent; its socket may have answered pings since. */
  readonly lastSignOf: (member: Member) => number;
}

/** A filter left no worker: the workers it examined, and the request. */
interface Nobody {
  readonly before: Bits;
  readonly fleet: Fleet;
  readonly asked: Wanted;
  readonly policy: RoutePolicy;
}

interface Filter {
  readonly name: string;
  /** A worker that it refuses lacks only a free place, its own or its provider's. */
  readonly isAboutRoom?: true;
  /** Why this worker may not have this job; null if it may. */
  readonly refuses: (member: Member, asked: Wanted, policy: RoutePolicy, fleet: Fleet) => string | null;
  /** Whether it can refuse any worker at all, given the request and the policy. */
  readonly applies?: (asked: Wanted, policy: RoutePolicy) => boolean;
  /** The same check for the whole fleet: removes refused workers from `left`. */
  readonly narrow: (left: Bits, fleet: Fleet, asked: Wanted, policy: RoutePolicy) => void;
  /** Why no worker may have this job, in one line, if this filter refused the last ones. */
  readonly whyNobody: (nobody: Nobody) => string;
}

const listed = (values: readonly string[]): string => values.map((value) => `"${value}"`).join(", ");

const ECHO_ASIDE = `echo answers only jobs that ask for provider "${ECHO}" or model "${ECHO}"`;

const lacks = (model: string | null, untilAt: number): string =>
  `its runtime answered that it does not have model "${model}"; it is asked again after ${new Date(untilAt).toISOString()}, or when its list changes`;

const NOT_AT_THE_EDGE = "the job is not to go to a provider that the coordinator calls itself (edge: false)";

const waitsForOthers = ({ instance, provider }: Member["worker"], { edgeAfterMs }: RoutePolicy): string =>
  `${instance} waits: a worker of your own can take this within ${(edgeAfterMs.get(provider) ?? 0) / 1000} s`;

const firstOf = ({ before, fleet }: Nobody): Member => fleet.at(before.first());

const whoIs = (nobody: Nobody): string => {
  const many = nobody.before.count();
  return many === 1 ? `worker "${firstOf(nobody).worker.instance}" is` : `all ${many} matching workers are`;
};

/** Whether this worker could be given the job, ignoring its current load. */
const MAY_EVER: readonly Filter[] = [
  {
    name: "provider",
    refuses: ({ worker }, asked, policy) => {
      if (asked.provider !== null && worker.provider !== asked.provider) {
        return `provider is "${worker.provider}", the job wants "${asked.provider}"`;
      }
      return leftBehind(asked, policy).includes(worker.provider)
        ? `provider "${worker.provider}" has failed this job already`
        : null;
    },
    applies: (asked) => asked.provider !== null || asked.excludedProviders.length > 0,
    narrow: (left, fleet, asked, policy) => {
      if (asked.provider !== null) left.intersect(fleet.ofProvider(asked.provider));
      for (const provider of leftBehind(asked, policy)) left.subtract(fleet.ofProvider(provider));
    },
    whyNobody: ({ asked, policy }) => {
      if (asked.provider !== null) return `no worker offers provider "${asked.provider}"`;
      const next = policy.chain.filter((provider) => !asked.excludedProviders.includes(provider));
      return `${listed(asked.excludedProviders)} failed this job, and no worker offers ${listed(next)}, the rest of routing.chain`;
    },
  },
  {
    name: "echo",
    refuses: ({ worker }) => (worker.provider === ECHO ? ECHO_ASIDE : null),
    applies: (asked, policy) =>
      policy.isEchoAside &&
      asked.provider === null &&
      (asked.model === null || modelKeyOf(asked.model) !== ECHO) &&
      chainOf(policy)?.includes(ECHO) !== true,
    narrow: (left, fleet) => {
      left.subtract(fleet.ofProvider(ECHO));
    },
    whyNobody: (nobody) => `${whoIs(nobody)} the built-in echo, and ${ECHO_ASIDE}`,
  },
  {
    name: "chain",
    refuses: ({ worker }, asked, policy) =>
      isOutsideChain(worker.provider, asked, policy) ? `provider "${worker.provider}" is not in routing.chain` : null,
    applies: (asked, policy) => chainOf(policy) !== null && asked.provider === null,
    narrow: (left, fleet, _asked, policy) => {
      const outside = left.copy();
      for (const provider of policy.chain) outside.subtract(fleet.ofProvider(provider));
      left.subtract(outside);
    },
    whyNobody: ({ policy }) => `no worker offers a provider of routing.chain (${listed(policy.chain)})`,
  },
  {
    name: "api",
    refuses: ({ worker }, { api }) =>
      api === null || worker.apis.includes(api) ? null : `does not offer the API "${api}"`,
    applies: ({ api }) => api !== null,
    narrow: (left, fleet, { api }) => {
      if (api !== null) left.intersect(fleet.answering(api));
    },
    whyNobody: ({ asked }) => `no worker offers the API "${asked.api}"`,
  },
  {
    name: "tags",
    refuses: ({ worker }, asked) => {
      const missing = asked.tags.filter((tag) => !worker.tags.includes(tag));
      return missing.length === 0 ? null : `missing tag ${missing.join(", ")}`;
    },
    applies: (asked) => asked.tags.length > 0,
    narrow: (left, fleet, asked) => {
      for (const tag of asked.tags) left.intersect(fleet.withTag(tag));
    },
    whyNobody: ({ before, fleet, asked }) => {
      const missing = asked.tags.filter((tag) => before.copy().intersect(fleet.withTag(tag)).count() === 0);
      if (missing.length === 0) return `no worker offers all of tags ${listed(asked.tags)}`;
      return `no worker offers tag ${listed(missing)}`;
    },
  },
  {
    name: "model",
    refuses: ({ worker }, asked) => {
      const taken = modelsTaken(worker);
      if (asked.model === null || taken === null || withModel(asked.model)(taken)) return null;
      return worker.models === null
        ? `its runtime does not list model "${asked.model}"`
        : `does not serve model "${asked.model}"`;
    },
    applies: (asked) => asked.model !== null,
    narrow: (left, fleet, asked) => {
      if (asked.model !== null) left.intersect(fleet.servingModel(asked.model));
    },
    whyNobody: ({ asked }) => `no matching worker serves model "${asked.model}"`,
  },
  {
    name: "missing_model",
    refuses: ({ worker }, asked, { nowAt }) => {
      const untilAt = missingUntil(worker.missingModels, asked.model, nowAt);
      return untilAt === null ? null : lacks(asked.model, untilAt);
    },
    applies: (asked) => asked.model !== null,
    narrow: (left, fleet, { model }, { nowAt }) => {
      const marked = model === null ? undefined : fleet.missing(model);
      if (marked === undefined) return;
      // What a runtime answered counts for some minutes, even before the sweep forgets it.
      const isAsked = (slot: number): boolean =>
        missingUntil(fleet.at(slot).worker.missingModels, model, nowAt) === null;
      left.keepIf(isAsked, marked);
    },
    whyNobody: (nobody) => {
      const { asked, before, policy } = nobody;
      const untilAt = missingUntil(firstOf(nobody).worker.missingModels, asked.model, policy.nowAt) ?? policy.nowAt;
      if (before.count() === 1) return `worker "${firstOf(nobody).worker.instance}": ${lacks(asked.model, untilAt)}`;
      return `the runtimes of all ${before.count()} matching workers answered that they do not have model "${asked.model}"`;
    },
  },
  {
    name: "edge",
    refuses: ({ worker }) => (worker.isEdge ? NOT_AT_THE_EDGE : null),
    applies: (asked) => asked.edge === false,
    narrow: (left, fleet) => {
      left.subtract(fleet.edge);
    },
    whyNobody: (nobody) => `${whoIs(nobody)} the coordinator's own, and ${NOT_AT_THE_EDGE}`,
  },
  {
    name: "offline",
    refuses: (member, _asked, policy) => {
      if (isCutOff(member)) return `offline: its ${member.isLockedOut ? "key was revoked" : "socket dropped"}`;
      return isSilent(member, policy) ? "offline" : null;
    },
    narrow: (left, fleet, _asked, policy) => {
      left.subtract(fleet.cutOff);
      const maybeSilent = fleet.maybeSilent(policy.nowAt - policy.offlineAfterMs);
      left.keepIf((slot) => !isSilent(fleet.at(slot), policy), maybeSilent);
    },
    whyNobody: (nobody) => `${whoIs(nobody)} offline`,
  },
  {
    name: "paused",
    refuses: (member, _asked, policy) => {
      const reason = pauseReasonOf(member.worker, policy.nowAt);
      return reason === null ? null : `paused: ${reason}`;
    },
    narrow: (left, fleet, _asked, policy) => {
      // A pause ends at its instant, even before the sweep handles it.
      left.keepIf((slot) => pauseReasonOf(fleet.at(slot).worker, policy.nowAt) === null, fleet.paused);
    },
    whyNobody: (nobody) => {
      const reason = nobody.before.count() === 1 ? pauseReasonOf(firstOf(nobody).worker, nobody.policy.nowAt) : null;
      return `${whoIs(nobody)} paused${reason === null ? "" : `: ${reason}`}`;
    },
  },
  {
    name: "unavailable",
    refuses: ({ worker }, _asked, { nowAt }) => {
      const reason = unavailableOf(worker, nowAt);
      return reason === null ? null : `unavailable: ${reason}`;
    },
    narrow: (left, fleet, _asked, { nowAt }) => {
      left.keepIf((slot) => unavailableOf(fleet.at(slot).worker, nowAt) === null, fleet.unavailable);
    },
    whyNobody: (nobody) =>
      `${whoIs(nobody)} unavailable: ${unavailableOf(firstOf(nobody).worker, nobody.policy.nowAt)}`,
  },
  {
    name: "provider_limit",
    isAboutRoom: true,
    refuses: ({ worker }, _asked, policy) => policy.closedProviders.get(worker.provider) ?? null,
    applies: (_asked, policy) => policy.closedProviders.size > 0,
    narrow: (left, fleet, _asked, policy) => {
      for (const provider of policy.closedProviders.keys()) left.subtract(fleet.ofProvider(provider));
    },
    whyNobody: (nobody) =>
      nobody.policy.closedProviders.get(firstOf(nobody).worker.provider) ?? "its provider takes no new jobs",
  },
];

/** In the order in which refusals are counted: first what never changes, last what only time changes. */
const FILTERS: readonly Filter[] = [
  ...MAY_EVER,
  {
    name: "batch_held",
    refuses: (_member, { batch }, { batchRules }) => (batch === null ? null : (batchRules?.holds(batch) ?? null)),
    applies: ({ batch }, { batchRules }) => batch !== null && (batchRules?.holds(batch) ?? null) !== null,
    narrow: (left) => left.keepIf(() => false, left.copy()),
    whyNobody: ({ asked, policy }) => policy.batchRules?.holds(asked.batch ?? "") ?? "its batch is held",
  },
  {
    name: "failed_before",
    refuses: ({ worker }, asked, policy, fleet) =>
      asked.avoidedWorkers.includes(worker.instance) && hasOthers(mayEverHave(fleet, asked, policy), fleet, asked)
        ? "failed this job, and another worker may have it"
        : null,
    applies: (asked) => asked.avoidedWorkers.length > 0,
    narrow: (left, fleet, asked) => {
      if (hasOthers(left, fleet, asked)) left.subtract(avoidedIn(fleet, asked));
    },
    whyNobody: (nobody) => `${whoIs(nobody)} to leave this job to another`,
  },
  {
    name: "swap",
    isAboutRoom: true,
    refuses: (member, asked, policy, fleet) => swapRefusal(member, asked, policy, fleet),
    applies: ({ model }, { swapRules }) => model !== null && swapRules !== undefined,
    narrow: (left, fleet, asked, policy) => {
      left.keepIf((slot) => swapRefusal(fleet.at(slot), asked, policy, fleet) === null, left.copy());
    },
    whyNobody: (nobody) => {
      const { fleet, asked, policy } = nobody;
      return swapRefusal(firstOf(nobody), asked, policy, fleet) ?? `${whoIs(nobody)} busy with other models`;
    },
  },
  {
    name: "busy",
    isAboutRoom: true,
    refuses: ({ worker }) => (worker.busy === null ? null : "reports that it is busy"),
    narrow: (left, fleet) => {
      left.subtract(fleet.busy);
    },
    whyNobody: (nobody) => `${whoIs(nobody)} busy, as reported`,
  },
  {
    name: "capacity",
    isAboutRoom: true,
    refuses: ({ worker, load }) =>
      load < worker.concurrency ? null : `at capacity (${load} of ${worker.concurrency})`,
    narrow: (left, fleet) => {
      left.intersect(fleet.withRoom);
    },
    whyNobody: (nobody) => `${whoIs(nobody)} at capacity`,
  },
  {
    name: "batch_room",
    isAboutRoom: true,
    refuses: (member, { batch }, { batchRules }) =>
      batch === null || batchRules === undefined ? null : leavesRoom(member, batchRules),
    applies: ({ batch }, { batchRules }) => batch !== null && batchRules !== undefined,
    narrow: (left, fleet, _asked, { batchRules }) => {
      if (batchRules === undefined) return;
      left.keepIf((slot) => leavesRoom(fleet.at(slot), batchRules) === null, left.copy());
    },
    whyNobody: (nobody) => {
      const { batchRules } = nobody.policy;
      const reason = batchRules === undefined ? null : leavesRoom(firstOf(nobody), batchRules);
      return `worker "${firstOf(nobody).worker.instance}" ${reason ?? "leaves its place to other work"}`;
    },
  },
  {
    name: "edge_waits",
    refuses: ({ worker }, asked, policy, fleet) =>
      worker.isEdge && mustWait(worker.provider, asked, policy) && canOthers(fleet, asked, policy)
        ? waitsForOthers(worker, policy)
        : null,
    applies: (_asked, policy) => policy.edgeAfterMs.size > 0,
    narrow: (left, fleet, asked, policy) => {
      const waiting = left.copy().intersect(fleet.edge);
      waiting.keepIf((slot) => mustWait(fleet.at(slot).worker.provider, asked, policy));
      if (waiting.count() > 0 && canOthers(fleet, asked, policy)) left.subtract(waiting);
    },
    whyNobody: (nobody) => waitsForOthers(firstOf(nobody).worker, nobody.policy),
  },
];

const swapRefusal = (member: Member, asked: Wanted, policy: RoutePolicy, fleet: Fleet): string | null => {
  if (policy.swapRules === undefined) return null;
  const mayTake = (requirements: Requirements): boolean => mayWithRoom(member, requirements, policy, fleet);
  return heldBySwap(member, asked, policy.swapRules, mayTake, policy.nowAt);
};

/** Whether the worker could be given such a job now if it had room. */
const mayWithRoom = (member: Member, asked: Requirements, policy: RoutePolicy, fleet: Fleet): boolean =>
  filtersFor(asked, policy).every(
    (filter) => filter.isAboutRoom || filter.refuses(member, asked, policy, fleet) === null,
  );

/** A fallback has not waited its time for another worker to take the job. */
const mustWait = (provider: string, { waitingSinceAt }: Wanted, { edgeAfterMs, nowAt }: RoutePolicy): boolean => {
  const afterMs = edgeAfterMs.get(provider);
  return afterMs !== undefined && (waitingSinceAt === undefined || nowAt - waitingSinceAt < afterMs);
};

/** Whether a worker that is not the coordinator's own is alive, not paused, and could take the job, now or later. */
export const canOthers = (fleet: Fleet, asked: Wanted, policy: RoutePolicy): boolean => {
  const left = fleet.registered.copy().subtract(fleet.edge);
  for (const filter of MAY_EVER) {
    if (left.count() === 0) return false;
    if (!filter.isAboutRoom && mayRefuse(filter, asked, policy)) filter.narrow(left, fleet, asked, policy);
  }
  return hasOthers(left, fleet, asked);
};

/** Providers that a fallback has tried; if the chain has no other, none counts as tried. */
const leftBehind = (asked: Requirements, policy: RoutePolicy): readonly string[] =>
  chainOf(policy)?.some((provider) => !asked.excludedProviders.includes(provider)) ? asked.excludedProviders : [];

const avoidedIn = (fleet: Fleet, asked: Requirements): Bits => {
  const avoided = new Bits();
  for (const instance of asked.avoidedWorkers) {
    const member = fleet.get(instance);
    if (member !== undefined) avoided.set(member.slot);
  }
  return avoided;
};

/** Whether one of these workers takes jobs and has not failed this one. */
const hasOthers = (among: Bits, fleet: Fleet, asked: Requirements): boolean => {
  const others = among.copy().subtract(avoidedIn(fleet, asked));
  return others.members().some((slot) => fleet.at(slot).worker.concurrency > 0);
};

const mayEverHave = (fleet: Fleet, asked: Requirements, policy: RoutePolicy): Bits => {
  const left = fleet.registered.copy();
  for (const filter of MAY_EVER) {
    if (mayRefuse(filter, asked, policy)) filter.narrow(left, fleet, asked, policy);
  }
  return left;
};

const mayRefuse = (filter: Filter, asked: Wanted, policy: RoutePolicy): boolean =>
  filter.applies?.(asked, policy) !== false;

/** The filters that can refuse any worker at all. */
export const filtersFor = (asked: Wanted, policy: RoutePolicy): Filter[] =>
  FILTERS.filter((filter) => mayRefuse(filter, asked, policy));

const isOutsideChain = (provider: string, asked: Requirements, policy: RoutePolicy): boolean =>
  asked.provider === null && chainOf(policy)?.includes(provider) === false;

const isSilent = (member: Member, policy: RoutePolicy): boolean =>
  isOffline(member.lastSeenAt, policy.offlineAfterMs, policy.nowAt) &&
  isOffline(policy.lastSignOf(member), policy.offlineAfterMs, policy.nowAt);

/** Every reason why a worker may not have a job; empty if it may. */
export const refusalsOf = (member: Member, asked: Wanted, policy: RoutePolicy, fleet: Fleet): string[] =>
  filtersFor(asked, policy)
    .map((filter) => filter.refuses(member, asked, policy, fleet))
    .filter((reason) => reason !== null);

/** The first reason, as counted in a worker's `skipped`. */
export const firstRefusal = (member: Member, asked: Wanted, policy: RoutePolicy, fleet: Fleet): string | null => {
  for (const filter of FILTERS) {
    if (!mayRefuse(filter, asked, policy)) continue;
    const reason = filter.refuses(member, asked, policy, fleet);
    if (reason !== null) return reason;
  }
  return null;
};
