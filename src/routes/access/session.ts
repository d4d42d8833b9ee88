// The dashboard's session: a cookie made from a key here, or by a person in `auth.ts`.

import { sessionAnswer, sessionRequest } from "../../../contract/access/session.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import { UNAUTHORIZED } from "../../endpoint/openapi.ts";
import { type Endpoint, endpoint } from "../../endpoint/router.ts";
import { answer } from "../../http/answer.ts";
import { type AppContext, refusalOfStranger, refuseForeignOrigin, sessionOf, signingSecret } from "../../http/auth.ts";
import { mint, read } from "../../http/key-format.ts";
import { Refused } from "../../http/refused.ts";
import { deleteSessionCookies, setSessionCookie } from "../../http/session-cookie.ts";
import { deploymentSignIn } from "../../sign-in/config.ts";
import { ask } from "../../tenant/ask.ts";
import { asks } from "../../tenant/asks.ts";
import { callTenant } from "../../tenant/tenant.ts";

const SESSIONS = "Dashboard session";
/** A key and the spaces that were copied with it. */
const MAX_SIGN_IN_BYTES = 4 * 1024;

/** The key was typed into the dashboard, so its refusal says nothing about headers. */
const NO_KEY_OF_OURS: Refusal = {
  code: "authentication_failed",
  detail: "This is no key of this service: copy it whole, as it was shown when it was made.",
};

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
    answers: { 200: { description: "Who is signed in: name, role and tenant.", schema: sessionAnswer } },
    refuses: [...UNAUTHORIZED, "forbidden", "overloaded"],
  },
  async (c, { body }) => {
    refuseForeignOrigin(c);
    const key = body.key.trim();
    const token = await read(signingSecret(c.env), key);
    if (token === null || token.kind !== "key") throw new Refused(await refusalOfStranger(c, key, NO_KEY_OF_OURS));
    const minted = await mint(signingSecret(c.env), "session", token.tenant, token.jurisdiction);
    const isOffHere = deploymentSignIn(c.env)?.keys_sign_in === false;
    const asked = { id: minted.id, hash: minted.hash, isOffHere };
    const session = await ask(c, token, "createSession", asked);
    await endOlderSession(c);
    setSessionCookie(c, minted.token, session.expires_at === null ? null : new Date(session.expires_at));
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
        description: "Who holds the session or the bearer key: a key or a person, with role and tenant.",
        schema: sessionAnswer,
      },
    },
  },
  async (c, { token }) => {
    const session = await ask(c, token, "readSession", { id: token.kind === "session" ? token.id : null });
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
    if (token.kind === "session") await ask(c, token, "endSession", { id: token.id });
    else await ask(c, token, "authorizeConsult", null);
    deleteSessionCookies(c);
    return c.body(null, 204);
  },
);

export const sessionRoutes: readonly Endpoint[] = [signIn, whoAmI, signOut];
