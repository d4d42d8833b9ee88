// The router's filters: whether a worker may have a job. A row states how it refuses one worker, how it narrows the
// whole fleet, and how it explains that no worker is left. All are evaluated; the first that refuses is counted.

import { Bits } from "../fleet/bits.ts";
import type { Fleet, Member } from "../fleet/fleet.ts";
import type { Requirements } from "../words/requirements.ts";
import { leavesRoom } from "./batch-room.ts";
import { type Filter, firstOf, mayRefuse, type RoutePolicy, type Wanted, whoIs } from "./filter.ts";
import { MAY_EVER } from "./lasting-filters.ts";
import { heldBySwap } from "./swapping.ts";

const waitsForOthers = ({ instance, provider }: Member["worker"], { edgeAfterMs }: RoutePolicy): string =>
  `${instance} waits: a worker of your own can take this within ${(edgeAfterMs.get(provider) ?? 0) / 1000} s`;

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
    refuses: ({ slot }, asked, policy, fleet) =>
      avoidedIn(fleet, asked.avoidedWorkers).has(slot) && hasOthers(mayEverHave(fleet, asked, policy), fleet, asked)
        ? "failed this job, and another worker may have it"
        : null,
    applies: (asked) => asked.avoidedWorkers.length > 0,
    narrow: (left, fleet, asked) => {
      if (hasOthers(left, fleet, asked)) left.subtract(avoidedIn(fleet, asked.avoidedWorkers));
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
      left.subtract(fleet.sets.busy);
    },
    whyNobody: (nobody) => `${whoIs(nobody)} busy, as reported`,
  },
  {
    name: "capacity",
    isAboutRoom: true,
    refuses: ({ worker: { concurrency }, load }) => {
      if (load < concurrency) return null;
      return concurrency === 0 ? "takes no jobs: concurrency 0" : `at capacity (${load} of ${concurrency})`;
    },
    narrow: (left, fleet) => {
      left.intersect(fleet.sets.withRoom);
    },
    whyNobody: (nobody) =>
      nobody.before.members().some((slot) => nobody.fleet.at(slot).worker.concurrency > 0)
        ? `${whoIs(nobody)} at capacity`
        : `${whoIs(nobody)} set to take no jobs: concurrency 0`,
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
      return `worker "${firstOf(nobody).worker.instance}": ${reason ?? "leaves its place to other work"}`;
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
      const waiting = left.copy().intersect(fleet.offers.edge);
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
  const left = fleet.offers.registered.copy().subtract(fleet.offers.edge);
  for (const filter of MAY_EVER) {
    if (left.count() === 0) return false;
    if (!filter.isAboutRoom && mayRefuse(filter, asked, policy)) filter.narrow(left, fleet, asked, policy);
  }
  return hasOthers(left, fleet, asked);
};

/** The coordinator's own workers of a provider make the same calls with the same key: one of them stands for all. */
export const avoidedIn = (fleet: Fleet, instances: readonly string[]): Bits => {
  const { offers } = fleet;
  const avoided = new Bits();
  for (const instance of instances) {
    const member = fleet.get(instance);
    if (member?.worker.isEdge) avoided.union(offers.edge.copy().intersect(offers.ofProvider(member.worker.provider)));
    else if (member !== undefined) avoided.set(member.slot);
  }
  return avoided;
};

/** Whether one of these workers takes jobs and has not failed this one. */
const hasOthers = (among: Bits, fleet: Fleet, asked: Requirements): boolean => {
  const others = among.copy().subtract(avoidedIn(fleet, asked.avoidedWorkers));
  return others.members().some((slot) => fleet.at(slot).worker.concurrency > 0);
};

const mayEverHave = (fleet: Fleet, asked: Requirements, policy: RoutePolicy): Bits => {
  const left = fleet.offers.registered.copy();
  for (const filter of MAY_EVER) {
    if (mayRefuse(filter, asked, policy)) filter.narrow(left, fleet, asked, policy);
  }
  return left;
};

/** The filters that can refuse any worker at all. */
export const filtersFor = (asked: Wanted, policy: RoutePolicy): Filter[] =>
  FILTERS.filter((filter) => mayRefuse(filter, asked, policy));

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
