// Logs each request that failed, or every request with SERVICE_LOG_REQUESTS=1. If Node passes a request on, the app
// that answers it writes the line.

import { routePath } from "hono/route";
import { INTERNAL_SERVER_ERROR } from "../../contract/words/http-status.ts";
import { type LogLevel, log } from "../../log/log.ts";
import type { AppContext } from "./auth.ts";

const LOGGED_STATUSES: ReadonlySet<number> = new Set([401, 403, 429]);
/** Not logged: scripts that wait for a start poll it. */
const HEALTH = "/health";
/** Of a path that is not part of the API. */
const ANY_ROUTE = "/*";

/** An intended refusal is a warning; only a defect is an error. */
const levelOf = (status: number): LogLevel => {
  if (status < 400) return "info";
  return status === INTERNAL_SERVER_ERROR ? "error" : "warn";
};

export const logRequest = (c: AppContext, answered: number, startedAt: number): void => {
  const status = c.get("sentStatus") ?? answered;
  const isLogged = status >= INTERNAL_SERVER_ERROR || LOGGED_STATUSES.has(status) || c.env.SERVICE_LOG_REQUESTS === "1";
  if (!isLogged || c.get("isPassedOn") === true || c.req.path === HEALTH) return;
  const caller = c.get("caller");
  log(levelOf(status), "request", {
    request_id: c.get("requestId"),
    tenant: caller?.tenant,
    key_id: caller?.kind === "key" ? caller.id : undefined,
    method: c.req.method,
    route: routePath(c, -1) || ANY_ROUTE,
    status,
    ms: Date.now() - startedAt,
    code: c.get("refusalCode"),
  });
};
