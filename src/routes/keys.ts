// Tenants (for the operator), keys, the dashboard's session, and the audit log.

import type { Context } from "hono";
import { deleteCookie, setCookie } from "hono/cookie";
import {
  auditList,
  auditQuery,
  keyAnswer,
  keyIdParam,
  keyList,
  newKeyRequest,
  newTenantAnswer,
  newTenantRequest,
  rotateKeyRequest,
  sessionAnswer,
  sessionRequest,
  tenantList,
} from "../../contract/key.ts";
import { AUTHENTICATION_FAILED } from "../../domain/key.ts";
import { invalid } from "../../domain/refusal.ts";
import { claimTenantName, listAudit, listTenants } from "../history/administration.ts";
import { answer } from "../http/answer.ts";
import { type AppContext, refuseForeignOrigin, SESSION_COOKIES, signingSecret } from "../http/auth.ts";
import { mint, read } from "../http/key-format.ts";
import { Refused, unwrap } from "../http/refused.ts";
import { type Endpoint, endpoint } from "../http/router.ts";
import { callTenant, createTenant, drainTenant, type TenantName, tenantObject } from "../http/tenant.ts";

const TENANTS = "Tenants";
const KEYS = "Keys";
const SESSIONS = "Dashboard session";

const newTenant = endpoint(
  {
    method: "post",
    path: "/admin/tenants",
    tag: TENANTS,
    needs: "root",
    summary: "Create a tenant with its first admin key",
    body: newTenantRequest,
    answers: { 201: { description: "The key is shown this once.", schema: newTenantAnswer } },
    refuses: ["tenant_exists", "history_unavailable"],
  },
  async (c, { body }) => {
    const { tenant } = body;
    const jurisdiction = body.jurisdiction ?? null;
    const locationHint = body.location_hint ?? null;
    const minted = await mint(signingSecret(c.env), "admin", tenant, jurisdiction);
    const adminKey = { id: minted.id, name: "first admin key", role: "admin" as const, hash: minted.hash };
    refuseUnknownJurisdiction(c, { tenant, jurisdiction });
    const isFree = await claimTenantName(c.env.DB, { tenant, jurisdiction }, Date.now());
    if (!isFree) throw new Refused({ code: "tenant_exists", tenant });
    unwrap(await createTenant(c.env, { tenant, jurisdiction, locationHint, adminKey }));
    return answer(c, { tenant, admin_key: minted.token }, 201);
  },
);

/** Not every runtime knows jurisdictions; one that does not says so when asked for an object. */
const refuseUnknownJurisdiction = (c: AppContext, name: TenantName): void => {
  try {
    tenantObject(c.env, name);
  } catch {
    throw new Refused(invalid("jurisdiction", "is not supported where this service runs"));
  }
};

const tenants = endpoint(
  {
    method: "get",
    path: "/admin/tenants",
    tag: TENANTS,
    needs: "root",
    summary: "All tenants, newest first",
    answers: { 200: { description: "Them.", schema: tenantList } },
    refuses: ["history_unavailable"],
  },
  async (c) => {
    return answer(c, { tenants: await listTenants(c.env.DB) });
  },
);

const newKey = endpoint(
  {
    method: "post",
    path: "/api/keys",
    tag: KEYS,
    needs: "administer",
    summary: "Create a key",
    body: newKeyRequest,
    answers: { 201: { description: "The key is shown this once.", schema: keyAnswer } },
  },
  async (c, { body, token }) => {
    const minted = await mint(signingSecret(c.env), body.role, token.tenant, token.jurisdiction);
    const { id, name, role } = unwrap(
      await callTenant(c.env, token, "createKey", {
        id: minted.id,
        name: body.name,
        role: body.role,
        hash: minted.hash,
      }),
    );
    return answer(c, { id, name, role, key: minted.token }, 201);
  },
);

const keys = endpoint(
  {
    method: "get",
    path: "/api/keys",
    tag: KEYS,
    needs: "administer",
    summary: "All keys, without their secrets",
    answers: { 200: { description: "Them.", schema: keyList } },
  },
  async (c, { token }) => {
    return answer(c, { keys: unwrap(await callTenant(c.env, token, "listKeys", null)) });
  },
);

const rotate = endpoint(
  {
    method: "post",
    path: "/api/keys/{id}/rotate",
    tag: KEYS,
    needs: "administer",
    summary: "Replace a key's secret",
    description: "The old one gets 401 at once, or after `grace_seconds`.",
    params: keyIdParam,
    body: rotateKeyRequest,
    isBodyOptional: true,
    answers: { 200: { description: "The new key, shown this once.", schema: keyAnswer } },
    refuses: ["not_found", "key_inactive"],
  },
  async (c, { params, body, token }) => {
    const listed = unwrap(await callTenant(c.env, token, "listKeys", null));
    const role = listed.find((key) => key.id === params.id)?.role;
    if (role === undefined) throw new Refused({ code: "not_found", kind: "key", id: params.id });
    const minted = await mint(signingSecret(c.env), role, token.tenant, token.jurisdiction, params.id);
    const request = { id: params.id, hash: minted.hash, graceMs: body.grace_seconds * 1000 };
    const { id, name } = unwrap(await callTenant(c.env, token, "rotateKey", request));
    return answer(c, { id, name, role, key: minted.token });
  },
);

const revoke = endpoint(
  {
    method: "delete",
    path: "/api/keys/{id}",
    tag: KEYS,
    needs: "administer",
    summary: "Revoke a key",
    description: "Its next request fails, its sockets close. The tenant's last admin key is kept.",
    params: keyIdParam,
    answers: { 204: { description: "Revoked." } },
    refuses: ["not_found", "last_admin_key"],
  },
  async (c, { params, token }) => {
    unwrap(await callTenant(c.env, token, "revokeKey", params));
    return c.body(null, 204);
  },
);

const SECURE_COOKIE = SESSION_COOKIES[0];
const PLAIN_COOKIE = SESSION_COOKIES[1];

const isHttps = (c: Context): boolean =>
  new URL(c.req.url).protocol === "https:" || c.req.header("x-forwarded-proto") === "https";

const signIn = endpoint(
  {
    method: "post",
    path: "/session",
    tag: SESSIONS,
    needs: "none",
    summary: "Sign the dashboard in",
    description: "Sets a cookie (HttpOnly, SameSite=Strict) that lasts 12 hours at most and dies with its key.",
    body: sessionRequest,
    answers: { 200: { description: "Who is signed in.", schema: sessionAnswer } },
    refuses: ["authentication_failed", "forbidden", "overloaded"],
  },
  async (c, { body }) => {
    refuseForeignOrigin(c);
    const token = await read(signingSecret(c.env), body.key.trim());
    if (token === null || token.kind !== "key") throw new Refused(AUTHENTICATION_FAILED);
    const minted = await mint(signingSecret(c.env), "session", token.tenant, token.jurisdiction);
    const session = unwrap(await callTenant(c.env, token, "createSession", { id: minted.id, hash: minted.hash }));
    const secure = isHttps(c);
    setCookie(c, secure ? SECURE_COOKIE : PLAIN_COOKIE, minted.token, {
      httpOnly: true,
      sameSite: "Strict",
      path: "/",
      secure,
      ...(session.expires_at === null ? {} : { expires: new Date(session.expires_at) }),
    });
    return c.json({ tenant: token.tenant, ...session });
  },
);

const whoAmI = endpoint(
  {
    method: "get",
    path: "/session",
    tag: SESSIONS,
    needs: "work",
    summary: "Who is signed in",
    answers: { 200: { description: "The key behind the session, or the bearer key itself.", schema: sessionAnswer } },
  },
  async (c, { token }) => {
    const session = unwrap(
      await callTenant(c.env, token, "readSession", { id: token.kind === "session" ? token.id : null }),
    );
    return answer(c, { tenant: token.tenant, ...session });
  },
);

const signOut = endpoint(
  {
    method: "delete",
    path: "/session",
    tag: SESSIONS,
    needs: "work",
    summary: "Sign the dashboard out",
    answers: { 204: { description: "The session is over." } },
  },
  async (c, { token }) => {
    if (token.kind === "session") unwrap(await callTenant(c.env, token, "endSession", { id: token.id }));
    else unwrap(await callTenant(c.env, token, "authorizeWork", null));
    deleteCookie(c, PLAIN_COOKIE, { path: "/" });
    deleteCookie(c, SECURE_COOKIE, { path: "/", secure: true });
    return c.body(null, 204);
  },
);

const audit = endpoint(
  {
    method: "get",
    path: "/api/audit",
    tag: KEYS,
    needs: "administer",
    summary: "Administrative changes, newest first",
    query: auditQuery,
    answers: { 200: { description: "A page of the audit log.", schema: auditList } },
    refuses: ["history_unavailable"],
  },
  async (c, { query, token }) => {
    unwrap(await callTenant(c.env, token, "authorizeAdmin", null));
    await drainTenant(c.env, token);
    return answer(c, { ...(await listAudit(c.env.DB, token.tenant, query)), ...query });
  },
);

export const keyRoutes: readonly Endpoint[] = [
  newTenant,
  tenants,
  newKey,
  keys,
  rotate,
  revoke,
  signIn,
  whoAmI,
  signOut,
  audit,
];
