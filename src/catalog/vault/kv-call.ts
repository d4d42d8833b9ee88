// One call to the HTTP API of Vault or OpenBao: headers, limits, and which answers mean that it is unavailable. The
// vault's texts are discarded: only the status and the parsed body are returned, and neither is logged.

import { isObject, parseJson } from "../../../contract/text/json-object.ts";
import { readBody } from "../bounded-body.ts";
import { deadline, discardBody, orAborted } from "../when-aborted.ts";
import type { SecretReading } from "./secret-source.ts";

const KV_TIMEOUT_MS = 5_000;
const KV_MAX_BYTES = 1024 * 1024;

export type KvServer = {
  /** Such as https://vault.example.com:8200 */
  address: string;
  namespace?: string;
  fetch: (request: Request) => Promise<Response>;
  timeoutMs?: number;
};

export type KvAnswer = { status: number; body: unknown };
export type KvCall = (
  method: "GET" | "POST",
  path: string,
  options: { token?: string; body?: unknown },
) => Promise<KvAnswer | Extract<SecretReading, { kind: "unavailable" | "refused" }>>;

export const kvCaller = (server: KvServer): KvCall => {
  const base = `${server.address.replace(/\/+$/, "")}/v1/`;
  return async (method, path, { token, body }) => {
    const headers = new Headers({ "x-vault-request": "true", accept: "application/json" });
    if (token !== undefined) headers.set("x-vault-token", token);
    if (server.namespace !== undefined) headers.set("x-vault-namespace", server.namespace);
    if (body !== undefined) headers.set("content-type", "application/json");
    const { signal, clear } = deadline(server.timeoutMs ?? KV_TIMEOUT_MS);
    try {
      const text = body === undefined ? {} : { body: JSON.stringify(body) };
      const request = new Request(base + path, { method, headers, redirect: "manual", signal, ...text });
      const response = await orAborted(server.fetch(request), signal, discardBody);
      if (response === "aborted") return { kind: "unavailable", detail: "the vault did not answer in time" };
      return await answerOf(response, signal);
    } catch {
      return { kind: "unavailable", detail: "the vault could not be reached" };
    } finally {
      clear();
    }
  };
};

const answerOf = async (response: Response, signal: AbortSignal): ReturnType<KvCall> => {
  const away = whyAway(response.status);
  if (away !== null) {
    discardBody(response);
    return { kind: "unavailable", detail: away };
  }
  const reading = await readBody(response, KV_MAX_BYTES, signal);
  if (!reading.ok) return { kind: "unavailable", detail: `the vault's answer cannot be read: ${reading.reason}` };
  const body = reading.text === "" ? null : parseJson(reading.text);
  if (body === undefined)
    return { kind: "refused", detail: "the vault's address answers with something other than JSON" };
  return { status: response.status, body };
};

export const field = (value: unknown, key: string): unknown =>
  isObject(value) && Object.hasOwn(value, key) ? (value[key] ?? undefined) : undefined;

/** 412 is a read that is not replicated yet, 472 and 473 are standbys, 503 is sealed or in maintenance. */
const whyAway = (status: number): string | null => {
  if (status === 0 || (status >= 300 && status < 400)) {
    return "the vault redirects: set its address to the active node or to a load balancer";
  }
  if (status === 429) return "the vault refuses too many requests, or the node is a standby";
  if (status === 412 || status === 472 || status === 473) return "the vault's node is a standby that cannot answer yet";
  if (status === 503) return "the vault is sealed or in maintenance";
  if (status >= 500) return `the vault answered ${status}`;
  return null;
};
