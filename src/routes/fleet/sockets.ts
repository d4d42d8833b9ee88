// The two WebSockets: a worker's, and the dashboard's live view. The tenant's object gets the upgrade and checks the
// key in the step that accepts the socket.

import { instanceParam } from "../../../contract/fleet/worker.ts";
import { SWITCHING_PROTOCOLS } from "../../../contract/words/http-status.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import type { Credential } from "../../../durable-objects/steps/holders.ts";
import { type Endpoint, endpoint } from "../../endpoint/router.ts";
import type { AppContext } from "../../http/auth.ts";
import type { TokenFacts } from "../../http/key-format.ts";
import { Refused, unwrap } from "../../http/refused.ts";
import { requireUpgrade } from "../../http/upgrade.ts";
import { ask } from "../../tenant/ask.ts";
import { asks } from "../../tenant/asks.ts";
import { noteConnected } from "../../tenant/readiness.ts";
import { credentialOf } from "../../tenant/tenant.ts";
import { tenantObject, withTenant } from "../../tenant/tenant-object.ts";

/** The frames then go between the client and the tenant's object; self-hosted they pass through Node. */
const upgrade = async (c: AppContext, token: TokenFacts, instance: string | null): Promise<Response> => {
  const credential = credentialOf(token);
  const home = c.env.HOME;
  if (home === undefined) return upgradeAtObject(c, token, credential, instance);
  const opening = { credential, instance };
  const opened = unwrap(await withTenant(c.env, token, false, () => home.openSocket(c, token.tenant, opening)));
  c.set("sentStatus", SWITCHING_PROTOCOLS);
  return opened;
};

const upgradeAtObject = async (
  c: AppContext,
  token: TokenFacts,
  credential: Credential,
  instance: string | null,
): Promise<Response> => {
  const headers = new Headers({ upgrade: "websocket" });
  headers.set("x-signalbox-credential", JSON.stringify(credential));
  if (instance !== null) headers.set("x-signalbox-instance", instance);
  const response = await tenantObject(c.env, token).fetch("https://tenant/", { headers });
  if (response.status !== SWITCHING_PROTOCOLS) throw new Refused((await response.json()) as Refusal);
  return response as unknown as Response;
};

const connect = endpoint(
  {
    method: "get",
    path: "/api/workers/{instance}/connect",
    tag: "Worker protocol",
    ...asks("authorizeWork", "instance_taken", "upgrade_required"),
    lane: "waiting",
    summary: "Connect a worker by WebSocket",
    description: "Flat JSON messages, one or an array per frame, in both directions; `ping` is answered with `pong`.",
    params: instanceParam,
    isNameNew: true,
    answers: { 101: { description: "Switching protocols." } },
  },
  async (c, { params, token }) => {
    await ask(c, token, "authorizeWork", null);
    requireUpgrade(c.req);
    const response = await upgrade(c, token, params.instance);
    c.executionCtx.waitUntil(noteConnected(c.env, token, params.instance));
    return response;
  },
);

const live = endpoint(
  {
    method: "get",
    path: "/live",
    lane: "waiting",
    tag: "Dashboard session",
    ...asks("authorizeRead", "upgrade_required"),
    summary: "Watch the tenant live by WebSocket",
    description:
      "A snapshot first, then the latest state of everything that changes, at most ten frames a second, numbered by `seq`.",
    answers: { 101: { description: "Switching protocols." } },
  },
  async (c, { token }) => {
    await ask(c, token, "authorizeRead", null);
    requireUpgrade(c.req);
    return upgrade(c, token, null);
  },
);

export const socketRoutes: readonly Endpoint[] = [connect, live];
