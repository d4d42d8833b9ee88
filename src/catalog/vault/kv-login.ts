// The vault's token: given, or from an AppRole login and cached in memory for two thirds of its lease.

import { field, type KvCall } from "./kv-call.ts";
import type { SecretReading } from "./secret-source.ts";

export type KvAuth =
  | { kind: "token"; token: string }
  | { kind: "approle"; roleId: string; secretId: string; mount?: string };

type TokenReading = { kind: "token"; token: string } | Extract<SecretReading, { kind: "refused" | "unavailable" }>;

export type KvLogin = {
  token(): Promise<TokenReading>;
  /** The vault no longer accepts this token. False if no other can be obtained. */
  forget(token: string): boolean;
};

export const kvLogin = (auth: KvAuth, call: KvCall, now: () => number): KvLogin => {
  if (auth.kind === "token") {
    return { token: async () => ({ kind: "token", token: auth.token }), forget: () => false };
  }
  let kept: { token: string; until: number } | null = null;
  let underWay: Promise<TokenReading> | null = null;
  const logIn = async (): Promise<TokenReading> => {
    const login = await appRoleLogin(auth, call);
    if (login.kind !== "login") return login;
    const lifetimeMs = login.leaseSeconds === 0 ? Number.POSITIVE_INFINITY : (login.leaseSeconds * 1000 * 2) / 3;
    kept = { token: login.token, until: now() + lifetimeMs };
    return { kind: "token", token: login.token };
  };
  return {
    token: async () => {
      if (kept !== null && now() < kept.until) return { kind: "token", token: kept.token };
      underWay ??= logIn().finally(() => {
        underWay = null;
      });
      return underWay;
    },
    forget: (token) => {
      if (kept?.token === token) kept = null;
      return true;
    },
  };
};

type Login =
  | { kind: "login"; token: string; leaseSeconds: number }
  | Extract<SecretReading, { kind: "refused" | "unavailable" }>;

const appRoleLogin = async (auth: Extract<KvAuth, { kind: "approle" }>, call: KvCall): Promise<Login> => {
  const mount = (auth.mount ?? "approle").replace(/^\/+|\/+$/g, "");
  const body = { role_id: auth.roleId, secret_id: auth.secretId };
  const answer = await call("POST", `auth/${mount}/login`, { body });
  if ("kind" in answer) return answer;
  if (answer.status !== 200) {
    const reason =
      answer.status === 404 ? `nothing is mounted at auth/${mount}` : "its role id or secret id is wrong or expired";
    return { kind: "refused", detail: `the vault refuses the AppRole login: ${reason}` };
  }
  const token = field(field(answer.body, "auth"), "client_token");
  const lease = field(field(answer.body, "auth"), "lease_duration");
  if (typeof token !== "string") return { kind: "refused", detail: "the vault's AppRole login returned no token" };
  return { kind: "login", token, leaseSeconds: typeof lease === "number" && lease > 0 ? lease : 0 };
};
