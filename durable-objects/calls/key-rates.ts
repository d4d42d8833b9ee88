// The request rate of each key, checked against `api.limits`. In memory only: after a sleep the buckets are full, as
// they would be by then.

import { type Bucket, type RequestLimits, takeRequest } from "../../domain/access/rate.ts";
import type { Refusal } from "../../domain/words/refusal.ts";
import { ok, type Result } from "../../domain/words/result.ts";
import type { Credential } from "../steps/holders.ts";
import type { Caller } from "../turn/turn.ts";

export class KeyRates {
  readonly #buckets = new Map<string, Bucket>();

  /** A call without `underWay` belongs to a request that was already counted, or that has no limit. */
  take(limits: RequestLimits, { keyId }: Caller, { underWay }: Credential, nowAt: number): Result<null, Refusal> {
    if (underWay === undefined || keyId === null) return ok(null);
    const taken = takeRequest(limits, this.#buckets.get(keyId), underWay, nowAt);
    if (!taken.ok) return taken;
    if (taken.value === null) this.#buckets.delete(keyId);
    else this.#buckets.set(keyId, taken.value);
    return ok(null);
  }
}

/** The same caller, for a further call of one request. */
export const counted = ({ underWay: _, ...credential }: Credential): Credential => credential;
