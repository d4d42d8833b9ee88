// What the edge asks of a tenant for somebody who has no session yet. Each is asked only by the edge, after it has
// checked what they bring: a token that the identity provider signed, or a code that the edge sealed.

import type { Refusal } from "../domain/words/refusal.ts";
import type { Result } from "../domain/words/result.ts";
import { redeemKey } from "./operations/access/key-grants.ts";
import { admitPerson, noteFailure, readSignIn } from "./operations/access/sign-in.ts";
import type { Turn } from "./turn/turn.ts";

const ADMISSIONS = {
  readSignIn: (turn: Turn, _request: null) => readSignIn(turn),
  admitPerson,
  noteFailure,
  redeemKey,
} as const;

export type AdmissionName = keyof typeof ADMISSIONS;
export type AdmissionRequest<Name extends AdmissionName> = Parameters<(typeof ADMISSIONS)[Name]>[1];
export type AdmissionAnswer<Name extends AdmissionName> =
  ReturnType<(typeof ADMISSIONS)[Name]> extends Result<infer Answer, Refusal> ? Answer : never;

export const runAdmission = <Name extends AdmissionName>(
  turn: Turn,
  name: Name,
  request: AdmissionRequest<Name>,
): Result<AdmissionAnswer<Name>, Refusal> =>
  (ADMISSIONS[name] as (turn: Turn, asked: unknown) => Result<AdmissionAnswer<Name>, Refusal>)(turn, request);
