// Fair shares: bounds on what one key, one tenant and one address without a key may have in progress, per lane. The
// killswitch, job reports and heartbeats have their own lane, which bulk traffic cannot use up; requests that only wait
// have one, too. Counts are per process and bound what it holds; the object keeps exact rates (`domain/rate.ts`).

import type { Lane } from "../home.ts";

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

const noneHeld = (): Readonly<Record<HolderKind, Map<string, Held>>> => ({
  key: new Map(),
  tenant: new Map(),
  stranger: new Map(),
});

export class Shares {
  /** By lane and kind of holder, then by the holder's id. */
  readonly #held = { vital: noneHeld(), usual: noneHeld(), heavy: noneHeld(), waiting: noneHeld() } as const;

  /** Takes a share of every holder; null if one of them has no room. Call the result to return the shares. */
  take(holders: readonly Holder[], lane: Lane, bytes: number, nowAt: number): (() => void) | null {
    const ticket = { bytes, takenAt: nowAt };
    if (!holders.every((holder) => this.#hasRoom(holder, lane, ticket))) return null;
    for (const holder of holders) this.#add(holder, lane, ticket);
    return () => {
      for (const holder of holders) this.#remove(holder, lane, ticket);
    };
  }

  /** Requests of a key in progress, except those of the vital lane. */
  underWay(keyId: string): number {
    const { usual, heavy, waiting } = this.#held;
    return countOf(usual.key.get(keyId)) + countOf(heavy.key.get(keyId)) + countOf(waiting.key.get(keyId));
  }

  #hasRoom(holder: Holder, lane: Lane, { bytes, takenAt: nowAt }: Ticket): boolean {
    const held = this.#held[lane][holder.kind].get(holder.id);
    const bound = BOUNDS[lane][holder.kind];
    if (held === undefined || fits(held, bound, bytes)) return true;
    for (const ticket of held.tickets) if (ticket.takenAt <= nowAt - LONGEST_MS) this.#remove(holder, lane, ticket);
    return fits(held, bound, bytes);
  }

  #add({ kind, id }: Holder, lane: Lane, ticket: Ticket): void {
    const ofKind = this.#held[lane][kind];
    const held = ofKind.get(id) ?? { tickets: new Set(), bytes: 0 };
    held.tickets.add(ticket);
    held.bytes += ticket.bytes;
    ofKind.set(id, held);
  }

  #remove({ kind, id }: Holder, lane: Lane, ticket: Ticket): void {
    const ofKind = this.#held[lane][kind];
    const held = ofKind.get(id);
    if (held?.tickets.delete(ticket) !== true) return;
    held.bytes -= ticket.bytes;
    if (held.tickets.size === 0) ofKind.delete(id);
  }
}

const countOf = (held: Held | undefined): number => held?.tickets.size ?? 0;

/** A first request always fits: no body that an endpoint takes is too large for an idle holder. */
const fits = ({ tickets, bytes: heldBytes }: Held, bound: Bound, bytes: number): boolean =>
  tickets.size === 0 || (tickets.size < bound.requests && heldBytes + bytes <= bound.bytes);
