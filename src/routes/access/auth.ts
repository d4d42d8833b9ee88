// Signing in with the organisation's identity: to the identity provider and back. Works under every level of the
// killswitch, and needs no key. A person who comes back is named by a signed token; the tenant's rules give the role.

import * as z from "zod";
import { signInOffer } from "../../../contract/access/sign-in.ts";
import { tenantName } from "../../../contract/tenant.ts";
import { MAX_JSON_DEPTH } from "../../../contract/words/json-bounds.ts";
import { claimsWithin } from "../../../domain/access/role-rules.ts";
import type { Admission } from "../../../durable-objects/operations/access/sign-in.ts";
import { type Endpoint, endpoint } from "../../endpoint/router.ts";
import { answer } from "../../http/answer.ts";
import { type AppContext, isHttps, signingSecret } from "../../http/auth.ts";
import { mint } from "../../http/key-format.ts";
import { unwrap } from "../../http/refused.ts";
import { setSessionCookie } from "../../http/session-cookie.ts";
import { deploymentSignIn, signInOf, type TenantSignIn } from "../../sign-in/config.ts";
import { FLOW_MODES, type Flow, keepFlow, takeFlow } from "../../sign-in/flow.ts";
import { IdentityError } from "../../sign-in/identity-error.ts";
import { identityFetch, isPrivateAllowed } from "../../sign-in/identity-fetch.ts";
import {
  authorizationUrl,
  type Identity,
  identityFrom,
  type Network,
  newChallenge,
  refusalIn,
} from "../../sign-in/oidc.ts";
import { showPage } from "../../sign-in/page.ts";
import { redirectUri } from "../../sign-in/redirect-uri.ts";
import { returnPath } from "../../sign-in/return-path.ts";
import { verifyToken } from "../../sign-in/signed-token.ts";
import { admission } from "../../tenant/tenant-administration.ts";

const SIGN_IN = "Sign-in";
const HOME = { href: "/", label: "To the dashboard" };
const startOf = ({ name }: TenantSignIn): string => `/auth/${name.tenant}/start`;
const PAGE = { description: "A page that says why nobody was signed in.", media: ["text/html"] } as const;
const TESTED = { ...PAGE, description: "The page of a test." } as const;
const ASKED = {
  ...PAGE,
  description: "The page of a test, or the question to a browser that another site sent here.",
} as const;

const networkOf = (c: AppContext): Network => ({ fetch: identityFetch(c.env), isPrivate: isPrivateAllowed(c.env) });

type Mode = Flow["mode"];

/** Opens the session, or says why there is none. */
const arrive = async (
  c: AppContext,
  at: TenantSignIn,
  identity: Identity,
  { mode, returnTo }: { readonly mode: Mode; readonly returnTo: string },
): Promise<Response> => {
  const { name, deployment } = at;
  const minted = await mint(signingSecret(c.env), "session", name.tenant, name.jurisdiction);
  const session = { id: minted.id, hash: minted.hash };
  const isTest = mode === "test";
  const claims = claimsWithin(identity.claims, MAX_JSON_DEPTH);
  const arrival = { ...identity, claims, session, isTest, deployment };
  const admitted = unwrap(await admission(c.env, name, "admitPerson", arrival));
  if (admitted.outcome !== "signed_in") return showOutcome(c, at, admitted, identity);
  setSessionCookie(c, minted.token, admitted.expiresAt === null ? null : new Date(admitted.expiresAt));
  return c.redirect(returnTo);
};

const showOutcome = (c: AppContext, at: TenantSignIn, admitted: Admission, { issuer }: Identity): Response => {
  const { outcome, rule } = admitted;
  const next = { href: startOf(at), label: "Sign in again" };
  if (outcome === "tested") {
    const text = `The test succeeded: you would have role ${rule?.role}. Nothing was changed, and no session was opened.`;
    return showPage(c, { status: 200, title: "Sign-in tested", text, told: admitted, next: HOME });
  }
  if (outcome === "blocked") {
    const text = "An administrator of this tenant has blocked you. Ask them to unblock you, then sign in again.";
    return showPage(c, { status: 403, title: "Blocked", text, next });
  }
  if (outcome === "full") {
    const text = "This tenant has as many people as it may have. Ask its administrators.";
    return showPage(c, { status: 403, title: "No room", text });
  }
  const text = `${issuer} knows you, but no rule of this tenant gives you a role. Show this page to an administrator of the tenant, or ask for the group that a rule names, then sign in again.`;
  return showPage(c, { status: 403, title: "No role", text, told: admitted, next });
};

/** A failure is kept for administrators, and explained to the person. */
const showFailure = async (c: AppContext, at: TenantSignIn, error: unknown): Promise<Response> => {
  if (!(error instanceof IdentityError)) throw error;
  unwrap(await admission(c.env, at.name, "noteFailure", { detail: error.message }));
  const status = error.isAway ? 502 : 401;
  const next = { href: startOf(at), label: "Try again" };
  return showPage(c, { status, title: "Not signed in", text: `Signing in failed: ${error.message}.`, next });
};

const showNotOffered = (c: AppContext): Response => {
  const text =
    "There is no such tenant here, or it offers no sign-in with an organisation's identity: sign in with a key.";
  return showPage(c, { status: 404, title: "No such sign-in", text, next: HOME });
};

/** The identity that a proxy signed; null without its header. A plain header is never trusted. */
const identityOfHeader = async (c: AppContext, { document }: TenantSignIn): Promise<Identity | null> => {
  const trusted = document.jwt_header;
  const token = trusted === null ? undefined : c.req.header(trusted.header);
  if (trusted === null || token === undefined) return null;
  const expected = { jwksUrl: trusted.jwks_url, issuer: trusted.issuer, audience: trusted.audience };
  const claims = await verifyToken(token, expected, identityFetch(c.env));
  return { issuer: trusted.issuer, subject: claims.sub, claims: claims as unknown as Identity["claims"] };
};

/**
 * A link of another site may lead to a stranger's tenant, whose provider signs everybody in: who types a provider's key
 * there has given it away.
 */
const comesFromElsewhere = (c: AppContext): boolean => (c.req.header("sec-fetch-site") ?? "").endsWith("-site");

const askFirst = (c: AppContext, { tenant }: { readonly tenant: string }): Response => {
  const text = `Another site led you here. Go on only if you know the tenant ${tenant}: its administrators see what you do and can use the keys that you store in it.`;
  const { pathname, search } = new URL(c.req.url);
  return showPage(c, {
    status: 200,
    title: `Sign in to ${tenant}?`,
    text,
    next: { href: pathname + search, label: "Sign in" },
  });
};

const startQuery = z.strictObject({ return: z.string().optional(), mode: z.enum(FLOW_MODES).default("sign_in") });
const tenantParam = z.object({ tenant: tenantName });

const start = endpoint(
  {
    method: "get",
    path: "/auth/{tenant}/start",
    operationId: "startSignIn",
    tag: SIGN_IN,
    needs: "none",
    summary: "Sign in with the organisation's identity",
    description:
      "Leads to the tenant's identity provider, or opens a session at once if a proxy's signed header names the person. `return` is a place of the dashboard, such as `/#/jobs`. `mode=test` opens no session; `mode=renew` asks the provider to show nothing. A browser that another site sent here (`Sec-Fetch-Site`) is asked first.",
    params: tenantParam,
    isNameNew: true,
    query: startQuery,
    answers: {
      200: ASKED,
      302: { description: "To the identity provider, or to `return`." },
      401: PAGE,
      403: PAGE,
      404: PAGE,
      502: PAGE,
    },
  },
  async (c, { params, query }) => {
    const at = await signInOf(c, params.tenant);
    if (at === null) return showNotOffered(c);
    if (comesFromElsewhere(c)) return askFirst(c, params);
    const { mode } = query;
    const returnTo = returnPath(query.return);
    try {
      const named = await identityOfHeader(c, at);
      if (named !== null) return await arrive(c, at, named, { mode, returnTo });
      const { oidc } = at.document;
      if (oidc === null) return showNotOffered(c);
      const challenge = newChallenge(redirectUri(c));
      const url = await authorizationUrl(oidc, challenge, networkOf(c), mode === "renew");
      const begun = { ...at.name, issuer: oidc.issuer, clientId: oidc.client_id, begunAt: Date.now() };
      await keepFlow(c, { ...begun, ...challenge, returnTo, mode }, isHttps(c));
      return c.redirect(url);
    } catch (error) {
      return showFailure(c, at, error);
    }
  },
);

const NO_FLOW =
  "This sign-in was begun in another browser, is finished already, or is older than ten minutes. Begin again from the dashboard.";

/** The provider shows nothing, and the person is needed: the dashboard then offers the button. */
const isSilentRefusal = (flow: Flow, back: URL): boolean => flow.mode === "renew" && refusalIn(back) !== null;

const callback = endpoint(
  {
    method: "get",
    path: "/auth/callback",
    operationId: "finishSignIn",
    tag: SIGN_IN,
    needs: "none",
    summary: "Come back from the identity provider",
    description: "The address to register with the identity provider.",
    takesAnyQuery: true,
    answers: {
      200: TESTED,
      302: { description: "To the dashboard, with a session." },
      400: PAGE,
      401: PAGE,
      403: PAGE,
      404: PAGE,
      502: PAGE,
    },
  },
  async (c) => {
    const flow = await takeFlow(c, c.req.query("state") ?? "", isHttps(c));
    if (flow === null) return showPage(c, { status: 400, title: "Not signed in", text: NO_FLOW, next: HOME });
    const back = new URL(c.req.url);
    if (isSilentRefusal(flow, back)) return c.redirect(flow.returnTo);
    const at = await signInOf(c, flow.tenant);
    const oidc = at?.document.oidc ?? null;
    if (at === null || oidc === null) return showNotOffered(c);
    try {
      if (oidc.issuer !== flow.issuer || oidc.client_id !== flow.clientId)
        throw new IdentityError("the tenant changed its identity provider meanwhile");
      return await arrive(c, at, await identityFrom(oidc, flow, back, networkOf(c)), flow);
    } catch (error) {
      return showFailure(c, at, error);
    }
  },
);

const offer = endpoint(
  {
    method: "get",
    path: "/auth/{tenant}",
    operationId: "readSignInOffer",
    tag: SIGN_IN,
    needs: "none",
    summary: "Read which ways of signing in a tenant offers",
    description: "An unknown tenant is answered like one that has configured nothing.",
    params: tenantParam,
    isNameNew: true,
    answers: { 200: { description: "What a page may offer.", schema: signInOffer } },
  },
  async (c, { params }) => {
    const document = (await signInOf(c, params.tenant))?.document ?? deploymentSignIn(c.env);
    const oidc = document?.oidc ?? null;
    return answer(c, {
      tenant: params.tenant,
      oidc: oidc === null ? null : { name: oidc.name },
      jwt_header: document?.jwt_header != null,
      keys_sign_in: document?.keys_sign_in ?? true,
    });
  },
);

export const authRoutes: readonly Endpoint[] = [callback, start, offer];
