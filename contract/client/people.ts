// People, and how they sign in.

import type { KeyGrantAnswer, KeyGrantRequest, RedeemedKey } from "../access/key-grant.ts";
import type { PersonList, PersonResource } from "../access/person.ts";
import type { SignInAttempts, SignInInput, SignInOffer, SignInResource } from "../access/sign-in.ts";
import { type CallOptions, pathOf, type Transport } from "./transport.ts";

export const peopleVerbs = (transport: Transport) => ({
  list: (options?: CallOptions) => transport.json<PersonList>({ method: "GET", path: "/api/people", options }),
  /** Sessions, sockets and keys stop at once; the keys live again when unblocked. */
  block: (id: string, options?: CallOptions) =>
    transport.json<PersonResource>({ method: "POST", path: pathOf`/api/people/${id}/block`, options }),
  unblock: (id: string, options?: CallOptions) =>
    transport.json<PersonResource>({ method: "POST", path: pathOf`/api/people/${id}/unblock`, options }),
  endSessions: (id: string, options?: CallOptions) =>
    transport.nothing({ method: "DELETE", path: pathOf`/api/people/${id}/sessions`, options }),
});

export const signInVerbs = (transport: Transport) => ({
  /** The config, without the secret. */
  get: (options?: CallOptions) => transport.json<SignInResource>({ method: "GET", path: "/api/sign-in", options }),
  put: (config: SignInInput, options?: CallOptions) =>
    transport.json<SignInResource>({ method: "PUT", path: "/api/sign-in", body: config, options }),
  /** The last 50, newest first. */
  attempts: (options?: CallOptions) =>
    transport.json<SignInAttempts>({ method: "GET", path: "/api/sign-in/attempts", options }),
  /** What a tenant offers to those who have no session yet. */
  offer: (tenant: string, options?: CallOptions) =>
    transport.json<SignInOffer>({ method: "GET", path: pathOf`/auth/${tenant}`, options }),
  /** In a person's session: the code with which a program fetches a key of the person. */
  grantKey: (grant: KeyGrantRequest, options?: CallOptions) =>
    transport.json<KeyGrantAnswer>({ method: "POST", path: "/auth/grants", body: grant, options }),
  redeemKey: (code: string, verifier: string, options?: CallOptions) =>
    transport.json<RedeemedKey>({ method: "POST", path: "/auth/key", body: { code, verifier }, options }),
});
