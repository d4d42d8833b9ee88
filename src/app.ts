// The edge: middleware, the routes, and the one place where errors become answers.

import { HonoBase } from "hono/hono-base";
import { NOT_FOUND } from "../contract/words/http-status.ts";
import { notFound, type Refusal } from "../domain/words/refusal.ts";
import { configureLog, log } from "../log/log.ts";
import { type Endpoint, type Envelope, mount, passOn } from "./endpoint/router.ts";
import type { Env } from "./env.ts";
import { bugResponse, isFrontDoor, refusalResponse } from "./front-door/answer/errors.ts";
import { doorBatchRoutes } from "./front-door/batches.ts";
import { cors, preflight } from "./front-door/cors.ts";
import { doorFileByteRoutes, doorFileRecordRoutes } from "./front-door/files.ts";
import { jobStreamRoutes } from "./front-door/job-stream.ts";
import { messageBatchByteRoutes, messageBatchRoutes } from "./front-door/message-batches.ts";
import { responseRoutes, UNOFFERED } from "./front-door/responses.ts";
import { doorFormRoutes, doorRoutes, longModelRoute } from "./front-door/routes.ts";
import { uploadRoutes } from "./front-door/uploads.ts";
import { assetResponse } from "./http/asset.ts";
import type { AppContext, Variables } from "./http/auth.ts";
import { secured } from "./http/headers.ts";
import { PathRouter } from "./http/path-router.ts";
import { internalProblem, malformedAddress, problemResponse, Refused } from "./http/refused.ts";
import { logRequest } from "./http/request-log.ts";
import { mcpRoutes } from "./mcp/route.ts";
import { authRoutes } from "./routes/access/auth.ts";
import { keyGrantRoutes } from "./routes/access/key-grants.ts";
import { keyRoutes } from "./routes/access/keys.ts";
import { providerKeyRoutes } from "./routes/access/provider-keys.ts";
import { sessionRoutes } from "./routes/access/session.ts";
import { signInRoutes } from "./routes/access/sign-in.ts";
import { archiveRoutes } from "./routes/archive.ts";
import { auditRoutes } from "./routes/audit.ts";
import { catalogRoutes } from "./routes/catalog.ts";
import { configRoutes } from "./routes/config.ts";
import { costRoutes } from "./routes/cost.ts";
import { modelRoutes } from "./routes/fleet/models.ts";
import { socketRoutes } from "./routes/fleet/sockets.ts";
import { workerProtocolRoutes } from "./routes/fleet/worker-protocol.ts";
import { workerRoutes } from "./routes/fleet/workers.ts";
import { insightRoutes } from "./routes/insight.ts";
import { batchRoutes } from "./routes/jobs/batches.ts";
import { dispatchRoutes } from "./routes/jobs/dispatch.ts";
import { fileByteRoutes, fileRecordRoutes } from "./routes/jobs/files.ts";
import { jobRoutes } from "./routes/jobs/jobs.ts";
import { outputRoutes } from "./routes/jobs/outputs.ts";
import { streamRoutes } from "./routes/jobs/streams.ts";
import { killswitchRoutes } from "./routes/killswitch.ts";
import { packageRoutes } from "./routes/package.ts";
import { scheduleRoutes } from "./routes/schedules.ts";
import { serviceRoutes } from "./routes/service.ts";
import { historyMoveRoutes } from "./routes/tenants/history-moves.ts";
import { movedFileRoutes } from "./routes/tenants/moved-files.ts";
import { moveRoutes } from "./routes/tenants/moves.ts";
import { tenantRoutes } from "./routes/tenants/tenants.ts";
import { webhookRoutes } from "./routes/webhooks.ts";
import { refusalOfLost } from "./tenant/tenant-object.ts";

const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

/** The same limit as on Cloudflare. */
const MAX_ADDRESS_BYTES = 16 * 1024;

/**
 * Endpoints that need only the tenant and history. Self-hosted, Node answers them itself. The API's pages have this
 * order.
 */
const portableRoutes: readonly Endpoint[] = [
  ...dispatchRoutes,
  ...jobRoutes,
  ...jobStreamRoutes,
  ...insightRoutes,
  ...doorRoutes,
  ...responseRoutes,
  ...workerRoutes,
  ...workerProtocolRoutes,
  ...modelRoutes,
  ...killswitchRoutes,
  ...scheduleRoutes,
  ...costRoutes,
  ...configRoutes,
  ...tenantRoutes,
  ...moveRoutes,
  ...historyMoveRoutes,
  ...movedFileRoutes,
  ...keyRoutes,
  ...keyGrantRoutes,
  ...sessionRoutes,
  ...signInRoutes,
  ...archiveRoutes,
  ...auditRoutes,
  ...socketRoutes,
  ...fileRecordRoutes,
  ...batchRoutes,
  ...doorBatchRoutes,
  ...messageBatchRoutes,
  ...doorFileRecordRoutes,
];

/** Endpoints that need a binding or the runtime's guarded network. Self-hosted, Node passes them on to workerd. */
const boundRoutes: readonly Endpoint[] = [
  ...fileByteRoutes,
  ...messageBatchByteRoutes,
  ...doorFileByteRoutes,
  ...doorFormRoutes,
  ...uploadRoutes,
  ...outputRoutes,
  ...streamRoutes,
  ...catalogRoutes,
  ...providerKeyRoutes,
  ...webhookRoutes,
  ...authRoutes,
  ...packageRoutes,
  ...mcpRoutes((request, c) => app.fetch(request, c.env)),
];

const ownRoutes = serviceRoutes([...portableRoutes, ...boundRoutes]);

export const endpoints = [...portableRoutes, ...boundRoutes, ...ownRoutes];

/** Without the routers that come with `Hono`: `PathRouter` is the only one. */
export const app = new HonoBase<{ Bindings: Env; Variables: Variables }>({ strict: true, router: new PathRouter() });

const refused = (c: AppContext, refusal: Refusal): Response => {
  c.set("refusalCode", refusal.code);
  return isFrontDoor(c.req.path) ? refusalResponse(c, refusal) : problemResponse(refusal, c.get("requestId"));
};

const answerOfError = (c: AppContext, error: unknown): Response => {
  if (error instanceof Refused) return refused(c, error.refusal);
  // Such as a reader that its relay cut before its answer began.
  const lost = refusalOfLost(c.env, error);
  if (lost !== null) return refused(c, lost);
  const requestId = c.get("requestId");
  log("error", "request.failed", { request_id: requestId, method: c.req.method, route: c.req.path }, error);
  return isFrontDoor(c.req.path) ? bugResponse(c) : internalProblem(requestId);
};

const ADDRESS_TOO_LONG: Refusal = { code: "uri_too_long", limitBytes: MAX_ADDRESS_BYTES };

/** Hono leaves out the body of an answer to HEAD: what writes it is told that nobody reads it, or it is written for ever. */
const leaveUnread = (c: AppContext, { body }: Response): void => {
  const leave = (): void => {
    body?.cancel().catch(() => undefined);
  };
  if (c.env.HOME === undefined) leave();
  else c.env.HOME.onAnswerEnd(c, leave);
};

/**
 * What every request gets: an id, an answer also to its error, the headers that all answers have, a line in the log. Hono
 * would chain it before each handler as a middleware, which takes a tenth of a call in Node.
 */
const inEnvelope: Envelope = (handle) => async (c) => {
  const given = c.req.header("x-request-id");
  c.set("requestId", given !== undefined && REQUEST_ID.test(given) ? given : crypto.randomUUID());
  configureLog(c.env);
  const startedAt = Date.now();
  let handled: Response;
  try {
    handled = c.req.url.length > MAX_ADDRESS_BYTES ? refused(c, ADDRESS_TOO_LONG) : await handle(c);
  } catch (error) {
    handled = answerOfError(c, error);
  }
  const answer = secured(handled, c.get("requestId"));
  if (c.req.method === "HEAD") leaveUnread(c, answer);
  logRequest(c, answer.status, startedAt);
  return answer;
};

app.onError((error, c) => inEnvelope(() => Promise.reject(error))(c));

app.options("/v1/*", inEnvelope(preflight));
app.use("/v1/*", cors);

for (const path of UNOFFERED)
  app.on(
    "POST",
    path,
    inEnvelope(async (c) => answerElsewhere(c)),
  );
const bound = new Set(boundRoutes);
mount(app, endpoints, (one) => !bound.has(one), inEnvelope);
app.get(longModelRoute.path, inEnvelope(longModelRoute.handle));

/** Clients differ in whether they add "/v1" to the address that they are given. */
const baseUrlHint = (path: string): string => {
  const isThere = (other: string): boolean => endpoints.some(({ description }) => description.path === other);
  const once = path.replace(/\/+/g, "/");
  if (once !== path && isThere(once)) return `: the client's base URL must not end with "/"`;
  const behind = /^\/v1(\/.+)/.exec(path)?.[1];
  if (behind !== undefined && isThere(behind)) return `: the client's base URL must end before "/v1"`;
  return isThere(`/v1${path}`) ? `: the client's base URL must end with "/v1"` : "";
};

const routeNotFound = (path: string): Refusal => ({ ...notFound("route", path), hint: baseUrlHint(path) });

/** A path that is not part of the API belongs to the dashboard; a file that is missing there as well is 404. */
const answerElsewhere = async (c: AppContext): Promise<Response> => {
  if (isFrontDoor(c.req.path)) return refusalResponse(c, routeNotFound(c.req.path));
  if (!URL.canParse(c.req.url)) throw new Refused(malformedAddress);
  const isRead = c.req.method === "GET" || c.req.method === "HEAD";
  if (isRead && c.env.HOME !== undefined) return passOn(c, c.env.HOME);
  if (isRead && c.env.ASSETS !== undefined) {
    const asset = await c.env.ASSETS.fetch(c.req.raw);
    if (asset.status !== NOT_FOUND) return assetResponse(asset, c.req.path, c.req.header("accept-encoding") ?? "");
  }
  return problemResponse(routeNotFound(c.req.path), c.get("requestId"));
};

app.notFound(inEnvelope(answerElsewhere));
