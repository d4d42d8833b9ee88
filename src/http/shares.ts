// Fair shares: bounds on what one key, one tenant and one address without a key may have in progress, per lane. The
// killswitch, job reports and heartbeats have their own lane, which bulk traffic cannot use up; requests that only wait
// have one, too. Counts are per process and bound what it holds; the object keeps exact rates (`domain/rate.ts`).

import type { Lane } from "./lanes.ts";

const MIB = 1024 * 1024;

export interface Bound {
  readonly requests: number;
  /** Bytes of bodies, as declared, or the most that the endpoint takes. */
  readonly bytes: number;
}

export type HolderKind = "key" | "tenant" | "stranger";

export const BOUNDS: Readonly<Record<Lane, Readonly<Record<HolderKind, Bound>>>> = {
  vital: {
    key: { requests: 4_096, bytes: 32 * MIB },
    tenant: { requests: 8_192, bytes: 64 * MIB },
    stranger: { requests: 1_024, bytes: MIB },
  },
  usual: {
    key: { requests: 2_048, bytes: 8 * MIB },
    tenant: { requests: 4_096, bytes: 16 * MIB },
    stranger: { requests: 64, bytes: MIB },
  },
  heavy: {
    key: { requests: 256, bytes: 8 * MIB },
    tenant: { requests: 512, bytes: 16 * MIB },
    stranger: { requests: 16, bytes: MIB },
  },
  waiting: {
    key: { requests: 8_192, bytes: 64 * MIB },
    tenant: { requests: 16_384, bytes: 128 * MIB },
    stranger: { requests: 16, bytes: MIB },
  },
};

export interface Holder {
  readonly kind: HolderKind;
  readonly id: string;
}

interface Ticket {
  readonly bytes: number;
  readonly takenAt: number;
}

interface Held {
  readonly tickets: Set<Ticket>;
  bytes: number;
}

/**
 * No request takes longer. The platform stops the code of a request whose client disconnects, so its ticket would never
 * be returned.
 */
const LONGEST_MS = 120_000;

export class Shares {
  readonly #held = new Map<string, Held>();

  /** Takes a share of every holder; null if one of them has no room. Call the result to return the shares. */
  take(holders: readonly Holder[], lane: Lane, bytes: number, nowAt: number): (() => void) | null {
    const asked = holders.map(({ kind, id }) => ({ name: `${lane} ${kind} ${id}`, bound: BOUNDS[lane][kind] }));
    if (!asked.every(({ name, bound }) => this.#hasRoom(name, bound, bytes, nowAt))) return null;
    const ticket = { bytes, takenAt: nowAt };
    for (const { name } of asked) this.#add(name, ticket);
    return () => {
      for (const { name } of asked) this.#remove(name, ticket);
    };
  }

  /** Requests of a key in progress, except those of the vital lane. */
  underWay(keyId: string): number {
    const lanes = ["usual", "heavy", "waiting"] as const satisfies readonly Lane[];
    return lanes.reduce((count, lane) => count + (this.#held.get(`${lane} key ${keyId}`)?.tickets.size ?? 0), 0);
  }

  #hasRoom(name: string, bound: Bound, bytes: number, nowAt: number): boolean {
    const held = this.#held.get(name);
    if (held === undefined || fits(held, bound, bytes)) return true;
    for (const ticket of held.tickets) if (ticket.takenAt <= nowAt - LONGEST_MS) this.#remove(name, ticket);
    return fits(held, bound, bytes);
  }

  #add(name: string, ticket: Ticket): void {
    const held = this.#held.get(name) ?? { tickets: new Set(), bytes: 0 };
    held.tickets.add(ticket);
    held.bytes += ticket.bytes;
    this.#held.set(name, held);
  }

  #remove(name: string, ticket: Ticket): void {
    const held = this.#held.get(name);
    if (held?.tickets.delete(ticket) !== true) return;
    held.bytes -= ticket.bytes;
    if (held.tickets.size === 0) this.#held.delete(name);
  }
}

/** A first request always fits: no body that an endpoint takes is too large for an idle holder. */
const fits = ({ tickets, bytes: heldBytes }: Held, bound: Bound, bytes: number): boolean =>
  tickets.size === 0 || (tickets.size < bound.requests && heldBytes + bytes <= bound.bytes);
