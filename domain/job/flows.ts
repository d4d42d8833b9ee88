// The flows of a tenant: its jobs by the key or the person that they are for. Each requirement group and priority has a
// fair order of its own, which lives while one of its jobs waits or runs.

import type { Fairness } from "../words/fairness.ts";
import type { Priority } from "../words/requirements.ts";
import { type Charge, type Chargeable, FairOrder, MAX_INDEBTED } from "./fair-order.ts";

/** Flows that may wait at a time; the jobs of further ones share a flow. */
export const MAX_FLOWS = 20_000;

/** Of jobs that nobody tells apart. */
export const COMMON_FLOW = "/";

/** The key and the person that a new job is for. */
interface JobFor {
  readonly keyId: string | null;
  /** Given with the job: it binds whatever is configured. */
  readonly fairnessKey: string | null;
  /** The person that a client names for its request. */
  readonly user: string | null;
}

/** A flow belongs to a key, so that nobody joins another key's. */
export const flowOf = ({ keyId, fairnessKey, user }: JobFor, by: Fairness): string => {
  const owner = keyId ?? "";
  if (fairnessKey !== null) return `${owner}/${fairnessKey}`;
  if (by === "none") return COMMON_FLOW;
  return by === "user" && user !== null ? `${owner}/${user}` : `${owner}/`;
};

/** A flow's key, and what tells it apart from others of that key. */
export const ownerOf = (flow: string): { readonly keyId: string | null; readonly name: string | null } => {
  const end = flow.indexOf("/");
  return { keyId: flow.slice(0, end) || null, name: flow.slice(end + 1) || null };
};

/** Where a job takes its turn. */
export interface FlowPlace {
  readonly groupKey: string;
  readonly priority: Priority;
  readonly flow: string;
}

/** Of a group, the jobs of one priority and one flow. */
export const laneOf = ({ priority, flow }: Omit<FlowPlace, "groupKey">): string => `${priority} ${flow}`;

export const placeOfLane = (groupKey: string, lane: string): FlowPlace => {
  const end = lane.indexOf(" ");
  return { groupKey, priority: lane.slice(0, end) as Priority, flow: lane.slice(end + 1) };
};

export class Flows {
  readonly #orders = new Map<string, FairOrder>();
  readonly #debts = { left: MAX_INDEBTED };
  /** Nobody ever waits or is served in it. */
  readonly #none = new FairOrder(this.#debts);
  #waiting = 0;
  /** The order that was looked up last, and its name: a job's turn asks for its own several times. */
  #last = { groupKey: "", priority: "", name: "" };

  /** How many flows wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Those in which somebody waits or runs. */
  get orders(): ReadonlyMap<string, FairOrder> {
    return this.#orders;
  }

  orderOf(place: Omit<FlowPlace, "flow">): FairOrder | undefined {
    return this.#orders.get(this.#nameOf(place));
  }

  #nameOf({ groupKey, priority }: Omit<FlowPlace, "flow">): string {
    if (this.#last.groupKey !== groupKey || this.#last.priority !== priority)
      this.#last = { groupKey, priority, name: `${priority} ${groupKey}` };
    return this.#last.name;
  }

  join(place: FlowPlace, weight: number, nowAt: number, count = 1): void {
    this.#change(place, (order) => order.join(place.flow, weight, nowAt, count));
  }

  leave(place: FlowPlace): void {
    this.#change(place, (order) => order.leave(place.flow));
  }

  charge(place: FlowPlace, weight: number, asked: Chargeable): Charge {
    return (this.orderOf(place) ?? this.#none).charge(place.flow, weight, asked);
  }

  serve(place: FlowPlace, charge: Charge | null, nowAt: number): void {
    this.#change(place, (order) => order.serve(place.flow, charge, nowAt));
  }

  end(place: FlowPlace, unworked: Charge | null): void {
    this.#change(place, (order) => order.end(place.flow, unworked));
  }

  #change(place: FlowPlace, change: (order: FairOrder) => void): void {
    const name = this.#nameOf(place);
    const order = this.#orders.get(name) ?? new FairOrder(this.#debts);
    const before = order.waiting;
    change(order);
    this.#waiting += order.waiting - before;
    if (!order.isOver) this.#orders.set(name, order);
    else if (this.#orders.delete(name)) order.drop();
  }
}
