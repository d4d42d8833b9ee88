// The filters that ask whether a worker could be given a job at all, whatever it has to do now.

import { isCutOff, type Member } from "../fleet/fleet.ts";
import { missingUntil } from "../fleet/model-name.ts";
import { modelsTaken, withModel } from "../fleet/model-set.ts";
import { pauseTextOf } from "../fleet/pause.ts";
import { ECHO, isOffline, pauseOf, unavailableOf } from "../fleet/worker.ts";
import { APIS } from "../words/api.ts";
import { modelKeyOf } from "../words/model-key.ts";
import type { Requirements } from "../words/requirements.ts";
import { type Filter, firstOf, type Nobody, type RoutePolicy, whoIs } from "./filter.ts";
import { chainOf } from "./strategy.ts";

/**
 * How many names one reason has: those of 32 long tags are 2 KB, which the answer would repeat for each job of a batch.
 */
const MAX_NAMED = 8;

const named = (names: readonly string[]): string => {
  const first = names.slice(0, MAX_NAMED).join(", ");
  return names.length <= MAX_NAMED ? first : `${first} and ${names.length - MAX_NAMED} more`;
};

const listed = (values: readonly string[]): string => named(values.map((value) => `"${value}"`));

const ECHO_ASIDE = `echo answers only jobs that ask for provider "${ECHO}" or model "${ECHO}"`;

const lacks = (model: string | null, untilAt: number): string =>
  `its runtime answered that it does not have model "${model}"; it is asked again after ${new Date(untilAt).toISOString()}, or when its list changes`;

const NOT_AT_THE_EDGE = "the job is not to go to a provider that the coordinator calls itself (edge: false)";

/** Whether this worker could be given the job, ignoring its current load. */
export const MAY_EVER: readonly Filter[] = [
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
      if (asked.provider !== null) left.intersect(fleet.offers.ofProvider(asked.provider));
      for (const provider of leftBehind(asked, policy)) left.subtract(fleet.offers.ofProvider(provider));
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
      left.subtract(fleet.offers.ofProvider(ECHO));
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
      for (const provider of policy.chain) outside.subtract(fleet.offers.ofProvider(provider));
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
      if (api !== null) left.intersect(fleet.offers.answering(api));
    },
    whyNobody: ({ asked }) => `no worker offers the API "${asked.api}"`,
  },
  {
    name: "tags",
    refuses: ({ slot }, asked, _policy, fleet) => {
      const missing = asked.tags.filter((tag) => fleet.offers.withTag(tag)?.has(slot) !== true);
      return missing.length === 0 ? null : `missing tag ${named(missing)}`;
    },
    applies: (asked) => asked.tags.length > 0,
    narrow: (left, fleet, asked) => {
      for (const tag of asked.tags) left.intersect(fleet.offers.withTag(tag));
    },
    whyNobody: ({ before, fleet, asked }) => {
      const missing = asked.tags.filter((tag) => !before.meets(fleet.offers.withTag(tag)));
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
      if (asked.model !== null) left.intersect(fleet.offers.servingModel(asked.model));
    },
    whyNobody: ({ asked: { api, model }, fleet }) => {
      const serving = fleet.offers.servingModel(model ?? "");
      const isOfOtherApis = api !== null && serving.count() > 0 && !serving.meets(fleet.offers.answering(api));
      if (!isOfOtherApis) return `no matching worker serves model "${model}"`;
      const others = APIS.filter((one) => serving.meets(fleet.offers.answering(one)));
      return `no worker that serves model "${model}" offers the API "${api}", only ${listed(others) || "ordinary jobs"}`;
    },
  },
  {
    name: "missing_model",
    refuses: ({ worker }, asked, { nowAt }) => {
      const untilAt = missingUntil(worker.missingModels, asked.model, nowAt);
      return untilAt === null ? null : lacks(asked.model, untilAt);
    },
    applies: (asked) => asked.model !== null,
    narrow: (left, fleet, { model }, { nowAt }) => {
      const marked = model === null ? undefined : fleet.offers.missing(model);
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
      left.subtract(fleet.offers.edge);
    },
    whyNobody: (nobody) => `${whoIs(nobody)} the coordinator's own, and ${NOT_AT_THE_EDGE}`,
  },
  {
    name: "offline",
    refuses: (member, _asked, policy) =>
      isCutOff(member) || isSilent(member, policy) ? howOffline(member, policy) : null,
    narrow: (left, fleet, _asked, policy) => {
      left.subtract(fleet.sets.cutOff);
      const maybeSilent = fleet.maybeSilent(policy.nowAt - policy.offlineAfterMs);
      left.keepIf((slot) => !isSilent(fleet.at(slot), policy), maybeSilent);
    },
    whyNobody: (nobody) => `${whoIs(nobody)} ${howAllOffline(nobody)}`,
  },
  {
    name: "paused",
    refuses: (member, _asked, policy) => {
      const pause = pauseOf(member.worker, policy.nowAt);
      return pause === null ? null : `paused: ${pauseTextOf(pause)}`;
    },
    narrow: (left, fleet, _asked, policy) => {
      // A pause ends at its instant, even before the sweep handles it.
      left.keepIf((slot) => pauseOf(fleet.at(slot).worker, policy.nowAt) === null, fleet.sets.paused);
    },
    whyNoCapacity: () => "all_paused",
    whyNobody: (nobody) => {
      const pause = nobody.before.count() === 1 ? pauseOf(firstOf(nobody).worker, nobody.policy.nowAt) : null;
      return `${whoIs(nobody)} paused${pause === null ? "" : `: ${pauseTextOf(pause)}`}`;
    },
  },
  {
    name: "unavailable",
    refuses: ({ worker }, _asked, { nowAt }) => {
      const reason = unavailableOf(worker, nowAt);
      return reason === null ? null : `unavailable: ${reason}`;
    },
    narrow: (left, fleet, _asked, { nowAt }) => {
      left.keepIf((slot) => unavailableOf(fleet.at(slot).worker, nowAt) === null, fleet.sets.unavailable);
    },
    whyNoCapacity: () => "all_unavailable",
    whyNobody: (nobody) =>
      `${whoIs(nobody)} unavailable: ${unavailableOf(firstOf(nobody).worker, nobody.policy.nowAt)}`,
  },
  {
    name: "provider_limit",
    isAboutRoom: true,
    refuses: ({ worker }, _asked, policy) => policy.closedProviders.get(worker.provider) ?? null,
    applies: (_asked, policy) => policy.closedProviders.size > 0,
    narrow: (left, fleet, _asked, policy) => {
      for (const provider of policy.closedProviders.keys()) left.subtract(fleet.offers.ofProvider(provider));
    },
    // The provider itself takes nothing now: its budget, a back-off, its own limit.
    whyNoCapacity: ({ provider }) => (provider === null ? "all_full" : null),
    whyNobody: (nobody) =>
      nobody.policy.closedProviders.get(firstOf(nobody).worker.provider) ?? "its provider takes no new jobs",
  },
];

/** Providers that a fallback has tried; if the chain has no other, none counts as tried. */
const leftBehind = (asked: Requirements, policy: RoutePolicy): readonly string[] =>
  chainOf(policy)?.some((provider) => !asked.excludedProviders.includes(provider)) ? asked.excludedProviders : [];

const isOutsideChain = (provider: string, asked: Requirements, policy: RoutePolicy): boolean =>
  asked.provider === null && chainOf(policy)?.includes(provider) === false;

/** A worker that is cut off has another status than `offline` until it has been silent long enough. */
const howOffline = (member: Member, policy: RoutePolicy): string => {
  if (member.isLockedOut && isCutOff(member)) return "disconnected: its key has ended";
  return isSilent(member, policy) ? "offline" : "disconnected: its socket dropped";
};

const howAllOffline = (nobody: Nobody): string => {
  if (nobody.before.count() === 1) return howOffline(firstOf(nobody), nobody.policy);
  const cutOff = nobody.before.copy();
  cutOff.intersect(nobody.fleet.sets.cutOff);
  return cutOff.first() < 0 ? "offline" : "offline or disconnected";
};

const isSilent = (member: Member, policy: RoutePolicy): boolean =>
  isOffline(member.lastSeenAt, policy.offlineAfterMs, policy.nowAt) &&
  isOffline(policy.lastSignOf(member), policy.offlineAfterMs, policy.nowAt);
