// Fair shares: bounds on what one key, one tenant and one address without a key may have in progress, per lane, and on
// what all of them hold together. The killswitch, job reports and heartbeats have their own lane, which bulk traffic
// cannot use up; requests that only wait have one, too. Counts are per process and bound what it holds; the object
// keeps exact rates (`domain/access/rate.ts`).

import { MAX_READERS_OF_A_STREAM } from "../../contract/data-line.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import type { Lane } from "../home.ts";

const MIB = 1024 * 1024;

export interface Bound {
  readonly requests: number;
  /** Bytes of bodies, as declared, or the most that the endpoint takes. */
  readonly bytes: number;
}

/**
 * `job`: the readers of one job with one key. `isolate`, `process`: everything that this code serves together, on
 * Cloudflare and in Node.
 */
export type HolderKind = "job" | "key" | "tenant" | "stranger" | "isolate" | "process";

/** A job has readers in the waiting lane only. */
const NO_READERS: Bound = { requests: 0, bytes: 0 };

export const BOUNDS: Readonly<Record<Lane, Readonly<Record<HolderKind, Bound>>>> = {
  vital: {
    job: NO_READERS,
    key: { requests: 4_096, bytes: 32 * MIB },
    tenant: { requests: 8_192, bytes: 64 * MIB },
    stranger: { requests: 1_024, bytes: MIB },
    isolate: { requests: 8_192, bytes: 16 * MIB },
    process: { requests: 65_536, bytes: 128 * MIB },
  },
  usual: {
    job: NO_READERS,
    key: { requests: 2_048, bytes: 8 * MIB },
    tenant: { requests: 4_096, bytes: 16 * MIB },
    stranger: { requests: 64, bytes: MIB },
    isolate: { requests: 8_192, bytes: 8 * MIB },
    process: { requests: 65_536, bytes: 64 * MIB },
  },
  heavy: {
    job: NO_READERS,
    key: { requests: 256, bytes: 8 * MIB },
    tenant: { requests: 512, bytes: 16 * MIB },
    stranger: { requests: 16, bytes: MIB },
    isolate: { requests: 1_024, bytes: 8 * MIB },
    process: { requests: 8_192, bytes: 64 * MIB },
  },
  waiting: {
    job: { requests: MAX_READERS_OF_A_STREAM, bytes: 0 },
    key: { requests: 8_192, bytes: 64 * MIB },
    tenant: { requests: 16_384, bytes: 96 * MIB },
    stranger: { requests: 16, bytes: MIB },
    isolate: { requests: 16_384, bytes: 32 * MIB },
    process: { requests: 65_536, bytes: 256 * MIB },
  },
};

export interface Holder {
  readonly kind: HolderKind;
  readonly id: string;
}

/** What one request has of its holders' shares. Each of its verbs may be called again. */
export interface Share {
  /** More of its body arrives than was known; the error names the first holder that has no room. */
  readonly grow: (bytes: number) => Result<null, HolderKind>;
  /** Its body is no longer in memory. */
  readonly freeBytes: () => void;
  /** It is still under way. */
  readonly renew: (nowAt: number) => void;
  readonly release: () => void;
}

/** Of a request that is counted elsewhere. */
export const NO_SHARE: Share = {
  grow: () => ok(null),
  freeBytes: () => undefined,
  renew: () => undefined,
  release: () => undefined,
};

interface Ticket {
  bytes: number;
  seenAt: number;
}

interface Held {
  readonly tickets: Set<Ticket>;
  bytes: number;
}

/**
 * No request is silent for longer. On Cloudflare the platform stops the code of a request whose client disconnects, so
 * its ticket would never be returned.
 */
const LONGEST_SILENCE_MS = 120_000;

const noneHeld = (): Readonly<Record<HolderKind, Map<string, Held>>> => ({
  job: new Map(),
  key: new Map(),
  tenant: new Map(),
  stranger: new Map(),
  isolate: new Map(),
  process: new Map(),
});

export class Shares {
  /** By lane and kind of holder, then by the holder's id. */
  readonly #held = { vital: noneHeld(), usual: noneHeld(), heavy: noneHeld(), waiting: noneHeld() } as const;

  /** Takes a share of every holder; the error names the first one that has no room. */
  take(holders: readonly Holder[], lane: Lane, bytes: number, nowAt: number): Result<Share, HolderKind> {
    const ticket = { bytes, seenAt: nowAt };
    const full = holders.find((holder) => !this.#hasRoom(holder, lane, ticket));
    if (full !== undefined) return err(full.kind);
    for (const holder of holders) this.#add(holder, lane, ticket);
    return ok({
      grow: (more) => {
        const small = holders.find((holder) => !this.#hasRoomFor(holder, lane, ticket, more));
        if (small !== undefined) return err(small.kind);
        for (const holder of holders) this.#widen(holder, lane, ticket, more);
        ticket.bytes += more;
        return ok(null);
      },
      freeBytes: () => {
        for (const holder of holders) this.#free(holder, lane, ticket);
        ticket.bytes = 0;
      },
      renew: (at) => {
        ticket.seenAt = at;
      },
      release: () => {
        for (const holder of holders) this.#remove(holder, lane, ticket);
      },
    });
  }

  /** Requests of a key in progress, except those of the vital lane. */
  underWay(keyId: string): number {
    const { usual, heavy, waiting } = this.#held;
    return countOf(usual.key.get(keyId)) + countOf(heavy.key.get(keyId)) + countOf(waiting.key.get(keyId));
  }

  #hasRoom(holder: Holder, lane: Lane, { bytes, seenAt: nowAt }: Ticket): boolean {
    const held = this.#held[lane][holder.kind].get(holder.id);
    const bound = BOUNDS[lane][holder.kind];
    if (held === undefined || fits(held, bound, bytes)) return true;
    for (const ticket of held.tickets)
      if (ticket.seenAt <= nowAt - LONGEST_SILENCE_MS) this.#remove(holder, lane, ticket);
    return fits(held, bound, bytes);
  }

  /** Alone its body always fits, as at its beginning. */
  #hasRoomFor({ kind, id }: Holder, lane: Lane, ticket: Ticket, more: number): boolean {
    const held = this.#held[lane][kind].get(id);
    if (held?.tickets.has(ticket) !== true || held.tickets.size === 1) return true;
    return held.bytes + more <= BOUNDS[lane][kind].bytes;
  }

  #widen({ kind, id }: Holder, lane: Lane, ticket: Ticket, more: number): void {
    const held = this.#held[lane][kind].get(id);
    if (held?.tickets.has(ticket) === true) held.bytes += more;
  }

  #add({ kind, id }: Holder, lane: Lane, ticket: Ticket): void {
    const ofKind = this.#held[lane][kind];
    const held = ofKind.get(id) ?? { tickets: new Set(), bytes: 0 };
    held.tickets.add(ticket);
    held.bytes += ticket.bytes;
    ofKind.set(id, held);
  }

  #free({ kind, id }: Holder, lane: Lane, ticket: Ticket): void {
    const held = this.#held[lane][kind].get(id);
    if (held?.tickets.has(ticket) === true) held.bytes -= ticket.bytes;
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
