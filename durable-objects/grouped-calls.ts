// Calls as text, JSON in and JSON out: the platform copies text at once, but an object property by property, and keeps
// an answered object until its caller lets go of it. Self-hosted, the edge in Node sends the waiting calls of a tenant
// as a group. Each call is authenticated, decided and answered separately; a call of a group that throws fails alone.

import type { Refusal } from "../domain/refusal.ts";
import type { Result } from "../domain/result.ts";
import type { OperationName } from "./api.ts";
import type { Credential } from "./operations/keys.ts";

export interface GroupedCall {
  readonly credential: Credential;
  readonly name: OperationName;
  readonly request: unknown;
}

/** The result of a call; `thrown` is the platform's error or a bug, never a refusal. */
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

/** Runs one call. */
export const answerText = async (text: string, call: Call): Promise<string> => {
  const { credential, name, request } = JSON.parse(text) as GroupedCall;
  return JSON.stringify(await call(credential, name, request as never));
};

/** Runs the turns that `begin` queues together, at once. */
type Together = <T>(begin: () => T) => T;

/** Runs a group. Its calls become turns together, so they share a commit. */
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
