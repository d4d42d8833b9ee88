// A sign-in under way: a sealed cookie of ten minutes in the browser that began it, so that a stolen callback address is
// worth nothing elsewhere. Each has a cookie of its own, so that two tabs, and two tenants, do not disturb each other.

import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { type AppContext, signingSecret } from "../http/auth.ts";
import { type SealedFor, seal, unseal } from "../http/sealed.ts";
import type { TenantName } from "../tenant/tenant-object.ts";
import type { Challenge } from "./oidc.ts";

const FLOW: SealedFor = { purpose: "sign-in" };
const FLOW_SECONDS = 600;
/** Abandoned ones are replaced: a request's headers have a limit. */
const MAX_FLOWS = 5;
const NAME = "signalbox-auth-";
const TAG_CHARS = 12;

export const FLOW_MODES = ["sign_in", "renew", "test"] as const;

export interface Flow extends Challenge {
  readonly tenant: TenantName["tenant"];
  readonly jurisdiction: TenantName["jurisdiction"];
  readonly issuer: string;
  readonly clientId: string;
  readonly returnTo: string;
  readonly mode: (typeof FLOW_MODES)[number];
  readonly begunAt: number;
}

const prefixOf = (isSecure: boolean): string => (isSecure ? `__Host-${NAME}` : NAME);

export const keepFlow = async (c: AppContext, flow: Flow, isSecure: boolean): Promise<void> => {
  const prefix = prefixOf(isSecure);
  const open = Object.keys(getCookie(c)).filter((name) => name.startsWith(prefix));
  for (const name of open.slice(0, Math.max(0, open.length - MAX_FLOWS + 1))) forget(c, name, isSecure);
  const sealed = await seal(signingSecret(c.env), FLOW, JSON.stringify(flow));
  setCookie(c, `${prefix}${flow.state.slice(0, TAG_CHARS)}`, sealed, {
    httpOnly: true,
    sameSite: "Lax",
    path: "/",
    secure: isSecure,
    maxAge: FLOW_SECONDS,
  });
};

const forget = (c: AppContext, name: string, isSecure: boolean): void => {
  deleteCookie(c, name, { path: "/", secure: isSecure });
};

/** The sign-in that this browser began with this state, which is over with this; null if there is none. */
export const takeFlow = async (c: AppContext, state: string, isSecure: boolean): Promise<Flow | null> => {
  if (!/^[A-Za-z0-9_-]{20,100}$/.test(state)) return null;
  const name = `${prefixOf(isSecure)}${state.slice(0, TAG_CHARS)}`;
  const sealed = getCookie(c, name);
  if (sealed === undefined) return null;
  forget(c, name, isSecure);
  const opened = await unseal(signingSecret(c.env), FLOW, sealed);
  const flow = JSON.parse(opened ?? "null") as Flow | null;
  const isFresh = flow !== null && Math.abs(Date.now() - flow.begunAt) < FLOW_SECONDS * 1000;
  return isFresh && flow.state === state ? flow : null;
};
