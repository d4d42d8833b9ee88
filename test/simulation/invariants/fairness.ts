// Fair turns: the flow that is served was served least of those that wait, and nobody is passed over for longer than the bound.

import { LONGEST_UNSERVED_MS, type WaitingFlow } from "../../../domain/job/fair-order.ts";
import { isLeased } from "../../../domain/job/job.ts";
import type { Memory } from "../../../durable-objects/turn/memory/memory.ts";
import type { World } from "../world.ts";
import { givenOut } from "./promises.ts";
import type { Snapshot } from "./snapshot.ts";

type WaitingFlows = ReadonlyMap<string, WaitingFlow>;

/** How the flows of each order stood after a world's last step. */
const stood = new WeakMap<World, { readonly memory: Memory; readonly orders: ReadonlyMap<string, WaitingFlows> }>();

/** With fewer flows than `least` an order says nothing. */
const waitingFlowsIn = ({ flows }: Memory, least: number): Map<string, WaitingFlows> => {
  const orders = new Map<string, WaitingFlows>();
  for (const [name, order] of flows.orders) {
    const waiting = [...order.waitingFlows()];
    if (waiting.length >= least) orders.set(name, new Map(waiting.map((flow) => [flow.name, flow])));
  }
  return orders;
};

/** Those of which one job waited all the time, by the name of their order. */
const flowsThatStayed = (before: Snapshot, now: Snapshot): Set<string> => {
  const stayed = new Set<string>();
  for (const { job, orderKey } of before.jobs.values()) {
    const still = now.jobs.get(job.id);
    if (orderKey === null || still === undefined || still.orderKey === null) continue;
    if (still.job.version === job.version) stayed.add(`${job.priority} ${job.groupKey} ${job.flow}`);
  }
  return stayed;
};

export const turnsAreFair = (before: Snapshot, now: Snapshot, world: World): string | null => {
  const { memory } = world.shell;
  const past = stood.get(world);
  if (memory === null) return null;
  // Beside a flow that was served another one waited.
  stood.set(world, { memory, orders: waitingFlowsIn(memory, 2) });
  // An object that woke begins with what the jobs that run were charged for.
  if (world.isShared || past?.memory !== memory) return null;
  const given = givenOut(before, now);
  if (given.length === 0) return null;
  const orders = waitingFlowsIn(memory, 1);
  const stayed = flowsThatStayed(before, now);
  for (const [was, job] of given) {
    const name = `${was.priority} ${was.groupKey}`;
    const own = past.orders.get(name)?.get(was.flow);
    if (own === undefined || was.orderKey === null || job.share === null) continue;
    // Patched within the step, it took its turn among others.
    if (name !== `${job.priority} ${job.groupKey}`) continue;
    // A fallback of the coordinator takes only what has waited for long: the first job, if the fair one is too young.
    if (memory.fleet.get(job.assignedWorker ?? "")?.worker.isEdge === true) continue;
    const at = job.assignedAt ?? now.nowAt;
    for (const [flow, other] of orders.get(name) ?? []) {
      const earlier = past.orders.get(name)?.get(flow);
      const isPassedOver = flow !== was.flow && stayed.has(`${name} ${flow}`) && earlier?.turn === other.turn;
      if (!isPassedOver) continue;
      // It may have been corrected within the step, before the choice or after it.
      const time = Math.max(earlier.time, other.time);
      if (at - own.sinceAt <= LONGEST_UNSERVED_MS && time < job.share.from)
        return `flow ${was.flow} was served at ${job.share.from}, and ${flow} waits at ${time}`;
      // By turns, not by instants: the clock may have been set back between the two.
      if (at - other.sinceAt > LONGEST_UNSERVED_MS && other.turn < own.turn)
        return `flow ${flow} waits for ${at - other.sinceAt} ms, and ${was.flow} was served`;
    }
  }
  return null;
};

/** The flows in memory are those of the jobs that wait, and that workers hold. */
export const flowsEqual = ({ flows }: Memory, now: Snapshot): string | null => {
  const counts = new Map<string, { waiting: Map<string, number>; held: Map<string, number> }>();
  for (const { job, orderKey } of now.jobs.values()) {
    if (orderKey === null && !isLeased(job)) continue;
    const name = `${job.priority} ${job.groupKey}`;
    const order = counts.get(name) ?? { waiting: new Map(), held: new Map() };
    counts.set(name, order);
    const counted = orderKey === null ? order.held : order.waiting;
    counted.set(job.flow, (counted.get(job.flow) ?? 0) + 1);
  }
  if (flows.orders.size !== counts.size) return `memory has ${flows.orders.size} fair orders, and ${counts.size} are`;
  let waiting = 0;
  for (const [name, { waiting: waits, held: holds }] of counts) {
    const order = flows.orders.get(name);
    waiting += waits.size;
    if (order?.waiting !== waits.size) return `memory has ${order?.waiting} flows in ${name}, and ${waits.size} wait`;
    for (const [flow, count] of waits)
      if (order.waitingOf(flow) !== count) return `memory has ${order.waitingOf(flow)} jobs of ${flow}, not ${count}`;
    for (const [flow, count] of holds)
      if (order.heldOf(flow) !== count) return `memory has ${order.heldOf(flow)} leases of ${flow}, not ${count}`;
  }
  return flows.waiting === waiting ? null : `memory counts ${flows.waiting} flows, and ${waiting} wait`;
};
