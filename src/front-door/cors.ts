// CORS: pages of the origins in `front_door.cors_origins` may read every answer of the front door, also refusals.

import type { Next } from "hono";
import { type AppContext, authenticateCaller } from "../http/auth.ts";
import { callTenant } from "../tenant/tenant.ts";

/** null: the request has no valid key, so the answer contains no tenant's data and any page may read it. */
const originsOf = async (c: AppContext): Promise<readonly string[] | null> => {
  const token = await authenticateCaller(c).catch(() => null);
  if (token === null) return null;
  const found = await callTenant(c.env, token, "readCorsOrigins", null).catch(() => null);
  return found?.ok ? found.value : [];
};

export const cors = async (c: AppContext, next: Next): Promise<void> => {
  const origin = c.req.header("origin");
  if (origin === undefined) return next();
  const asked = originsOf(c);
  await next();
  const allowed = await asked;
  if (allowed !== null && !allowed.includes("*") && !allowed.includes(origin)) return;
  const { headers } = c.res;
  headers.set("access-control-allow-origin", origin);
  headers.set("access-control-expose-headers", "*");
  headers.set("vary", "origin");
};

/**
 * A preflight has no key, so its tenant's origins are unknown. It only lists what a request may contain; the answer
 * itself says whether a page may read it.
 */
export const preflight = (c: AppContext): Response =>
  new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-origin": c.req.header("origin") ?? "*",
      "access-control-allow-methods": "GET, POST, DELETE",
      "access-control-allow-headers": c.req.header("access-control-request-headers") ?? "authorization, content-type",
      "access-control-max-age": "600",
      vary: "origin, access-control-request-headers",
    },
  });
