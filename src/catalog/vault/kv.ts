// Keys from HashiCorp Vault or OpenBao, secrets engine KV version 2. One secret per provider at
// <mount>/<prefix>/<name>, with the key in its field `key`; `allowed_hosts` in its custom metadata (host names,
// separated by commas) restricts where the key may be sent. A 404 means one of three: no secret, a deleted or destroyed
// version (with a full body), no such mount.

import { field, type KvAnswer, type KvCall, type KvServer, kvCaller } from "./kv-call.ts";
import { type KvAuth, type KvLogin, kvLogin } from "./kv-login.ts";
import type { SecretReading, SecretSource } from "./secret-source.ts";

export type KvOptions = KvServer & { auth: KvAuth; mount?: string; prefix?: string; now: () => number };

const KV_MOUNT = "secret";
const KV_PREFIX = "signalbox/providers";
const KV_FIELD = "key";

export const kvSecrets = (options: KvOptions): SecretSource => {
  const call = kvCaller(options);
  const login = kvLogin(options.auth, call, options.now);
  const mount = trimSlashes(options.mount ?? KV_MOUNT);
  const prefix = trimSlashes(options.prefix ?? KV_PREFIX);
  return {
    read: async (name) => {
      const path = `${prefix}/${name}`;
      const answer = await readOnceMore(call, login, `${mount}/data/${path}`);
      if ("kind" in answer) return answer;
      return explainSecret(answer, mount, path);
    },
  };
};

/** A 403 may only mean that the token has expired: log in again once. */
const readOnceMore = async (call: KvCall, login: KvLogin, path: string): Promise<KvAnswer | SecretReading> => {
  for (let attempt = 1; ; attempt++) {
    const token = await login.token();
    if (token.kind !== "token") return token;
    const answer = await call("GET", path, { token: token.token });
    if ("kind" in answer || answer.status !== 403 || attempt > 1 || !login.forget(token.token)) return answer;
  }
};

const explainSecret = (answer: KvAnswer, mount: string, path: string): SecretReading => {
  const where = `${mount}/${path}`;
  if (answer.status === 200) return secretIn(answer.body, mount, where);
  if (answer.status === 204) return { kind: "missing", detail: `the vault has no secret at ${where}` };
  if (answer.status === 404) return explain404(answer.body, mount, where);
  return {
    kind: "refused",
    detail:
      answer.status === 403
        ? `the vault refuses to read ${where}: its token has expired, or its policy lacks read on ${mount}/data/${path}`
        : `the vault answered ${answer.status} for ${where}`,
  };
};

const secretIn = (body: unknown, mount: string, where: string): SecretReading => {
  const outer = field(body, "data");
  const data = field(outer, "data");
  if (data === undefined && typeof field(outer, KV_FIELD) === "string") {
    return { kind: "refused", detail: `the mount ${mount} is KV version 1: upgrade it to version 2` };
  }
  const secret = field(data, KV_FIELD);
  if (typeof secret !== "string" || secret.trim() === "") {
    return { kind: "missing", detail: `the vault's secret at ${where} has no text in its field ${KV_FIELD}` };
  }
  const hosts = field(field(field(outer, "metadata"), "custom_metadata"), "allowed_hosts");
  if (typeof hosts !== "string" || hosts.trim() === "") return { kind: "found", secret: secret.trim() };
  return {
    kind: "found",
    secret: secret.trim(),
    hosts: hosts
      .toLowerCase()
      .split(/[\s,]+/)
      .filter(Boolean),
  };
};

const explain404 = (body: unknown, mount: string, where: string): SecretReading => {
  const metadata = field(field(body, "data"), "metadata");
  if (field(metadata, "destroyed") === true) {
    return { kind: "missing", detail: `the vault's secret at ${where} is destroyed: write a new version` };
  }
  if (metadata !== undefined) {
    return { kind: "missing", detail: `the vault's secret at ${where} is deleted: undelete it or write a new version` };
  }
  const errors = field(body, "errors");
  if (Array.isArray(errors) && errors.length > 0) {
    return { kind: "refused", detail: `the vault has no secrets engine at ${mount} in this namespace` };
  }
  return { kind: "missing", detail: `the vault has no secret at ${where}` };
};

const trimSlashes = (text: string): string => text.replace(/^\/+|\/+$/g, "");
