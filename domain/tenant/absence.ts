// Why a tenant is not served here: it moves in, or away. A move has an id, which distinguishes a repeated step from
// another move. The states, and what leads from one to the next:
//
//   source:  served → leaving → left        target:  (none) → arriving → served
//                 leave     endLeaving                      makeRoom     settleIn
//
// Until the source has left, the move can be cancelled; the target serves only afterwards, so two deployments never
// serve one tenant.

import type { Refusal } from "../words/refusal.ts";

export type Absence =
  | { readonly state: "arriving"; readonly move: string }
  | { readonly state: "leaving" | "left"; readonly move: string; readonly to: string };

const RETRY_SECONDS = 5;

/** While its rows are copied, its callers wait; then they get its new address. */
export const refuseAbsent = (absence: Absence): Refusal =>
  absence.state === "left"
    ? { code: "tenant_moved", to: absence.to }
    : { code: "tenant_unavailable", retryAfterSeconds: RETRY_SECONDS, isMoving: true };

/** Null: it is served here. */
export const absenceRefusal = (absence: Absence | null): Refusal | null =>
  absence === null ? null : refuseAbsent(absence);
