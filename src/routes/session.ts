// The dashboard's session: a cookie made from a key, which ends with the key.

import type { Context } from "hono";
import { deleteCookie, setCookie } from "hono/cookie";
import { sessionAnswer, sessionRequest } from "../../contract/session.ts";
import type { Refusal } from "../../domain/words/refusal.ts";
import { type Endpoint, endpoint } from "../endpoint/router.ts";
import { answer } from "../http/answer.ts";
import { type AppContext, refuseForeignOrigin, SESSION_COOKIES, sessionOf, signingSecret } from "../http/auth.ts";
import { mint, read } from "../http/key-format.ts";
import { Refused, unwrap } from "../http/refused.ts";
import { asks } from "../tenant/asks.ts";
import { callTenant } from "../tenant/tenant.ts";

const SESSIONS = "Dashboard session";
/** A key and the spaces that were copied with it. */
const MAX_SIGN_IN_BYTES = 4 * 1024;

/** The key was typed here: a word about headers would be of another place. */
const NO_KEY_OF_OURS: Refusal = {
  code: "authentication_failed",
  detail: "This is no key of this service: copy it whole, as it was shown when it was made.",
};

const SECURE_COOKIE = SESSION_COOKIES[0];
const PLAIN_COOKIE = SESSION_COOKIES[1];

const isHttps = (c: Context): boolean =>
  new URL(c.req.url).protocol === "https:" || c.req.header("x-forwarded-proto") === "https";

/** Ends the session that the browser had: without its cookie nobody could end it later. */
const endOlderSession = async (c: AppContext): Promise<void> => {
  const older = await sessionOf(c);
  if (older !== null) await callTenant(c.env, older, "endSession", { id: older.id });
};

const signIn = endpoint(
  {
    method: "post",
    path: "/session",
    tag: SESSIONS,
    needs: "none",
    maxBodyBytes: MAX_SIGN_IN_BYTES,
    summary: "Sign in to the dashboard",
    description: "Sets a cookie (HttpOnly, SameSite=Strict) that lasts at most 12 hours and ends with its key.",
    body: sessionRequest,
    answers: { 200: { description: "The signed-in key: name, role and tenant.", schema: sessionAnswer } },
    refuses: ["authentication_failed", "key_revoked", "key_rotated", "forbidden", "overloaded"],
  },
  async (c, { body }) => {
    refuseForeignOrigin(c);
    const token = await read(signingSecret(c.env), body.key.trim());
    if (token === null || token.kind !== "key") throw new Refused(NO_KEY_OF_OURS);
    const minted = await mint(signingSecret(c.env), "session", token.tenant, token.jurisdiction);
    const session = unwrap(await callTenant(c.env, token, "createSession", { id: minted.id, hash: minted.hash }));
    await endOlderSession(c);
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
    ...asks("readSession"),
    summary: "Read who is signed in",
    answers: {
      200: {
        description: "The key of the session or of the bearer header: name, role and tenant.",
        schema: sessionAnswer,
      },
    },
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
    needs: "consult",
    summary: "Sign out of the dashboard",
    answers: { 204: { description: "The session has ended." } },
  },
  async (c, { token }) => {
    if (token.kind === "session") unwrap(await callTenant(c.env, token, "endSession", { id: token.id }));
    else unwrap(await callTenant(c.env, token, "authorizeConsult", null));
    deleteCookie(c, PLAIN_COOKIE, { path: "/" });
    deleteCookie(c, SECURE_COOKIE, { path: "/", secure: true });
    return c.body(null, 204);
  },
);

export const sessionRoutes: readonly Endpoint[] = [signIn, whoAmI, signOut];
