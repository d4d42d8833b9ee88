// Several calls of one tenant in one message: self-hosted, the edge in Node sends whatever waits as one group. JSON in,
// JSON out. Each call is authenticated, decided and answered for itself; a call that throws fails alone.

import type { Refusal } from "../domain/refusal.ts";
import type { Result } from "../domain/result.ts";
import type { OperationName } from "./api.ts";
import type { Credential } from "./operations/keys.ts";

export interface GroupedCall {
  readonly credential: Credential;
  readonly name: OperationName;
  readonly request: unknown;
}

/** What a call came to; `thrown` is the platform's error or a bug, never a refusal. */
export type Outcome = { readonly value: unknown } | { readonly thrown: Thrown };

export interface Thrown {
  readonly message: string;
  readonly retryable?: boolean;
  readonly overloaded?: boolean;
}

export const thrownOf = (error: unknown): Thrown => {
  const { message, retryable, overloaded } = error as Thrown;
  return {
    message: String(message),
    ...(retryable === true ? { retryable } : {}),
    ...(overloaded === true ? { overloaded } : {}),
  };
};

type Call = (credential: Credential, name: OperationName, request: never) => Promise<Result<unknown, Refusal>>;

/** Carries out what `begin` asks for as one stretch, at once. */
type Together = <T>(begin: () => T) => T;

/** Carries out a group. The calls become turns in one go, so they share a stretch and its commit. */
export const answerGroup = async (group: string, together: Together, call: Call): Promise<string> => {
  const calls = JSON.parse(group) as readonly GroupedCall[];
  const settled = await Promise.allSettled(
    together(() => calls.map((one) => call(one.credential, one.name, one.request as never))),
  );
  const outcomes = settled.map(
    (one): Outcome => (one.status === "fulfilled" ? { value: one.value } : { thrown: thrownOf(one.reason) }),
  );
  return JSON.stringify(outcomes);
};
