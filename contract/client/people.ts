// People, and how they sign in.

import type { KeyGrantAnswer, KeyGrantRequest, RedeemedKey } from "../access/key-grant.ts";
import type { PersonList, PersonResource } from "../access/person.ts";
import type { SignInAttempts, SignInInput, SignInOffer, SignInResource } from "../access/sign-in.ts";
import { type CallOptions, pathOf, type Transport } from "./transport.ts";

export const peopleVerbs = (transport: Transport) => ({
  list: (options?: CallOptions) => transport.get<PersonList>("/api/people", options),
  /** Sessions, sockets and keys stop at once; the keys live again when unblocked. */
  block: (id: string, options?: CallOptions) =>
    transport.post<PersonResource>(pathOf`/api/people/${id}/block`, undefined, options),
  unblock: (id: string, options?: CallOptions) =>
    transport.post<PersonResource>(pathOf`/api/people/${id}/unblock`, undefined, options),
  endSessions: (id: string, options?: CallOptions) => transport.remove(pathOf`/api/people/${id}/sessions`, options),
});

export const signInVerbs = (transport: Transport) => ({
  /** The config, without the secret. */
  get: (options?: CallOptions) => transport.get<SignInResource>("/api/sign-in", options),
  put: (config: SignInInput, options?: CallOptions) => transport.put<SignInResource>("/api/sign-in", config, options),
  /** The last 50, newest first. */
  attempts: (options?: CallOptions) => transport.get<SignInAttempts>("/api/sign-in/attempts", options),
  /** What a tenant offers to those who have no session yet. */
  offer: (tenant: string, options?: CallOptions) => transport.get<SignInOffer>(pathOf`/auth/${tenant}`, options),
  /** In a person's session: the code with which a program fetches a key of the person. */
  grantKey: (grant: KeyGrantRequest, options?: CallOptions) =>
    transport.post<KeyGrantAnswer>("/auth/grants", grant, options),
  redeemKey: (code: string, verifier: string, options?: CallOptions) =>
    transport.post<RedeemedKey>("/auth/key", { code, verifier }, options),
});
