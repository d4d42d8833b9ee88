// Fair shares: bounds on what one key, one tenant and one address without a key may have in progress, per lane, and on
// what all of them hold together. The killswitch, job reports and heartbeats have their own lane, which bulk traffic
// cannot use up; requests that only wait have one, too. Counts are per process and bound what it holds; the object
// keeps exact rates (`domain/access/rate.ts`).

import { MAX_READERS_OF_A_STREAM } from "../../contract/data-line.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import { MIB } from "../../domain/words/size.ts";
import type { Lane } from "../home.ts";

interface Bound {
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
    // The longest body, and small ones beside it: a worker that waits must not keep it out.
    isolate: { requests: 16_384, bytes: 36 * MIB },
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

/**
 * No request is silent for longer. On Cloudflare the platform stops the code of a request whose client disconnects, so
 * its ticket would never be returned.
 */
const LONGEST_SILENCE_MS = 120_000;

/** What one holder has in progress in one lane. It is known as long as it has something. */
class Held {
  readonly tickets = new Set<Ticket>();
  #bytes = 0;
  readonly #bound: Bound;
  readonly #id: string;
  readonly #known: Map<string, Held>;

  constructor(bound: Bound, id: string, known: Map<string, Held>) {
    this.#bound = bound;
    this.#id = id;
    this.#known = known;
  }

  hasRoom({ bytes, seenAt: nowAt }: Ticket): boolean {
    if (this.#fits(bytes)) return true;
    for (const ticket of this.tickets) if (ticket.seenAt <= nowAt - LONGEST_SILENCE_MS) this.remove(ticket);
    return this.#fits(bytes);
  }

  /** A first request always fits: no body that an endpoint takes is too large for an idle holder. */
  #fits(bytes: number): boolean {
    const { size } = this.tickets;
    return size === 0 || (size < this.#bound.requests && this.#bytes + bytes <= this.#bound.bytes);
  }

  /** Alone its body always fits, as at its beginning. */
  hasRoomFor(ticket: Ticket, more: number): boolean {
    if (!this.tickets.has(ticket) || this.tickets.size === 1) return true;
    return this.#bytes + more <= this.#bound.bytes;
  }

  add(ticket: Ticket): void {
    if (this.tickets.size === 0) this.#known.set(this.#id, this);
    this.tickets.add(ticket);
    this.#bytes += ticket.bytes;
  }

  widen(ticket: Ticket, more: number): void {
    if (this.tickets.has(ticket)) this.#bytes += more;
  }

  remove(ticket: Ticket): void {
    if (!this.tickets.delete(ticket)) return;
    this.#bytes -= ticket.bytes;
    if (this.tickets.size === 0) this.#known.delete(this.#id);
  }
}

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
    const all = holders.map((holder) => this.#heldBy(holder, lane));
    const full = all.findIndex((held) => !held.hasRoom(ticket));
    if (full >= 0) return err((holders[full] as Holder).kind);
    for (const held of all) held.add(ticket);
    return ok({
      grow: (more) => {
        const small = all.findIndex((held) => !held.hasRoomFor(ticket, more));
        if (small >= 0) return err((holders[small] as Holder).kind);
        for (const held of all) held.widen(ticket, more);
        ticket.bytes += more;
        return ok(null);
      },
      freeBytes: () => {
        for (const held of all) held.widen(ticket, -ticket.bytes);
        ticket.bytes = 0;
      },
      renew: (at) => {
        ticket.seenAt = at;
      },
      release: () => {
        for (const held of all) held.remove(ticket);
      },
    });
  }

  /** Requests of a key in progress, except those of the vital lane. */
  underWay(keyId: string): number {
    const { usual, heavy, waiting } = this.#held;
    return countOf(usual.key.get(keyId)) + countOf(heavy.key.get(keyId)) + countOf(waiting.key.get(keyId));
  }

  #heldBy({ kind, id }: Holder, lane: Lane): Held {
    const known = this.#held[lane][kind];
    return known.get(id) ?? new Held(BOUNDS[lane][kind], id, known);
  }
}

const countOf = (held: Held | undefined): number => held?.tickets.size ?? 0;
