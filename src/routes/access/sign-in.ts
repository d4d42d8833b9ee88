// A tenant's config of signing in, its attempts, and the people who have signed in.

import { personIdParam, personList, personResource } from "../../../contract/access/person.ts";
import {
  attemptList,
  NO_SIGN_IN,
  presentSignIn,
  type SignInRequest,
  signInRequest,
  signInResource,
} from "../../../contract/access/sign-in.ts";
import { invalid } from "../../../domain/words/refusal.ts";
import { checkUrl } from "../../catalog/url-policy.ts";
import { operation } from "../../endpoint/operation.ts";
import { type Endpoint, endpoint } from "../../endpoint/router.ts";
import { answer } from "../../http/answer.ts";
import type { AppContext } from "../../http/auth.ts";
import { Refused } from "../../http/refused.ts";
import { deploymentSignIn } from "../../sign-in/config.ts";
import { isPrivateAllowed } from "../../sign-in/identity-fetch.ts";
import { redirectUri } from "../../sign-in/redirect-uri.ts";
import { ask } from "../../tenant/ask.ts";
import { asks } from "../../tenant/asks.ts";

const SIGN_IN = { tag: "Sign-in" } as const;
const PEOPLE = { tag: "People" } as const;

/** The rules of webhooks' addresses, checked at each fetch, too. */
const refusePrivateUrls = (c: AppContext, { oidc, jwt_header }: SignInRequest): void => {
  const urls = { "oidc.issuer": oidc?.issuer, "jwt_header.jwks_url": jwt_header?.jwks_url };
  for (const [path, url] of Object.entries(urls)) {
    const wrong = url === undefined ? null : checkUrl(url, isPrivateAllowed(c.env));
    if (wrong !== null) throw new Refused(invalid(path, wrong));
  }
};

const putSignIn = endpoint(
  {
    ...SIGN_IN,
    ...asks("putSignIn"),
    method: "put",
    path: "/api/sign-in",
    summary: "Set how people sign in",
    description:
      "The first rule of `roles` that fits a person's claims gives the role; without one the person is refused. Register the answer's `redirect_uri` with the identity provider.",
    body: signInRequest,
    answers: { 200: { description: "The config, without the secret.", schema: signInResource } },
  },
  async (c, { body, token }) => {
    refusePrivateUrls(c, body);
    const { document } = await ask(c, token, "putSignIn", body);
    return answer(c, presentSignIn(document, { redirect_uri: redirectUri(c), from: "tenant" }));
  },
);

const readSignIn = endpoint(
  {
    ...SIGN_IN,
    ...asks("readSignIn"),
    method: "get",
    path: "/api/sign-in",
    summary: "Read how people sign in",
    answers: { 200: { description: "The config, without the secret.", schema: signInResource } },
  },
  async (c, { token }) => {
    const own = (await ask(c, token, "readSignIn", null)).document;
    const deployment = own === null ? deploymentSignIn(c.env) : null;
    const from = own !== null ? "tenant" : deployment !== null ? "deployment" : "none";
    return answer(c, presentSignIn(own ?? deployment ?? NO_SIGN_IN, { redirect_uri: redirectUri(c), from }));
  },
);

const attempts = endpoint(
  {
    ...SIGN_IN,
    ...asks("listAttempts"),
    method: "get",
    lane: "heavy",
    path: "/api/sign-in/attempts",
    summary: "List the last 50 sign-ins, newest first",
    answers: { 200: { description: "The attempts, with the claims that rules look at.", schema: attemptList } },
  },
  async (c, { token }) => answer(c, { attempts: await ask(c, token, "listAttempts", null) }),
);

const list = endpoint(
  {
    ...PEOPLE,
    ...asks("listPeople"),
    method: "get",
    lane: "heavy",
    path: "/api/people",
    summary: "List the people who have signed in",
    answers: { 200: { description: "The people, the last seen first.", schema: personList } },
  },
  async (c, { token }) => answer(c, { people: await ask(c, token, "listPeople", null) }),
);

const block = operation(
  "blockPerson",
  {
    ...PEOPLE,
    method: "post",
    path: "/api/people/{id}/block",
    summary: "Block a person",
    description: "Sessions, sockets and keys of the person stop at once; the keys live again when unblocked.",
    params: personIdParam,
    answers: { 200: { description: "The blocked person.", schema: personResource } },
  },
  ({ params }) => params,
);

const unblock = operation(
  "unblockPerson",
  {
    ...PEOPLE,
    method: "post",
    path: "/api/people/{id}/unblock",
    summary: "Unblock a person",
    params: personIdParam,
    answers: { 200: { description: "The person.", schema: personResource } },
  },
  ({ params }) => params,
);

const endSessions = operation(
  "endPersonSessions",
  {
    ...PEOPLE,
    method: "delete",
    path: "/api/people/{id}/sessions",
    summary: "End a person's sessions",
    params: personIdParam,
    answers: { 204: { description: "The sessions and their sockets have ended." } },
  },
  ({ params }) => params,
);

export const signInRoutes: readonly Endpoint[] = [putSignIn, readSignIn, attempts, list, block, unblock, endSessions];
