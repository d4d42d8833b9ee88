// The tenant `default` of a self-hosted server and the keys kept for it. Its admin key is shown once, in the answer
// that creates the tenant. A start killed between that answer and the key file leaves a tenant nobody can enter; the
// first-start marker, written before any state and removed after the key file, tells that case from a lost file.

import { existsSync, rmSync, writeFileSync } from "node:fs";
import { ExitError } from "../exit-error.ts";
import type { DataDir } from "./data-dir.ts";
import { readSecret, syncDirectory, writeSecret } from "./kept-secret.ts";

export const TENANT = "default";
const REQUEST_TIMEOUT_MS = 30_000;

/** Before the runtime makes any state: is this a first start, or does the folder contradict itself? */
export function markFirstStart(dir: DataDir): void {
  if (existsSync(dir.state)) return;
  if (existsSync(dir.adminKey)) {
    const choice = `Bring back ${dir.state}, or remove ${dir.adminKey} and ${dir.workerKey} to start empty`;
    throw new ExitError(`${dir.root} has keys but no state: they open nothing. ${choice}.`);
  }
  rmSync(dir.workerKey, { force: true });
  writeFileSync(dir.firstStart, "");
  syncDirectory(dir.root);
}

/** Whether the tenant's admin key is kept; if so, no first start is under way any more. */
export function isTenantKept(dir: DataDir): boolean {
  if (!readSecret(dir.adminKey)) return false;
  rmSync(dir.firstStart, { force: true });
  return true;
}

/**
 * Makes the tenant and keeps its key, if no key is kept yet. "stranded" means that an earlier first start was killed
 * in between and left nothing that anyone could have used: the state may be deleted and made again.
 */
export async function ensureDefaultTenant(url: string, rootKey: string, dir: DataDir): Promise<"ready" | "stranded"> {
  if (!isTenantKept(dir)) {
    const answer = await request(url, rootKey, "POST", "/admin/tenants", { tenant: TENANT });
    if (answer.status === 409) {
      if (existsSync(dir.firstStart) && (await isOnlyTenant(url, rootKey))) return "stranded";
      throw new ExitError(lostKeyMessage(dir));
    }
    writeSecret(dir.adminKey, expectText(answer, 201, "admin_key", "The tenant could not be created"));
  }
  rmSync(dir.firstStart, { force: true });
  return "ready";
}

/** A worker key for the local worker: made once with the admin key, then kept. */
export async function ensureWorkerKey(url: string, dir: DataDir): Promise<string> {
  const kept = readSecret(dir.workerKey);
  if (kept) return kept;
  const adminKey = readSecret(dir.adminKey) ?? "";
  const answer = await request(url, adminKey, "POST", "/api/keys", { name: "local worker", role: "worker" });
  const key = expectText(answer, 201, "key", "The local worker's key could not be made");
  writeSecret(dir.workerKey, key);
  return key;
}

interface Answer {
  status: number;
  body: Record<string, unknown>;
}

async function request(url: string, key: string, method: string, path: string, body?: object): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  const parsed: unknown = await response.json().catch(() => undefined);
  const isRecord = typeof parsed === "object" && parsed !== null;
  return { status: response.status, body: isRecord ? (parsed as Record<string, unknown>) : {} };
}

async function isOnlyTenant(url: string, rootKey: string): Promise<boolean> {
  const { status, body } = await request(url, rootKey, "GET", "/admin/tenants");
  const tenants = Array.isArray(body.tenants) ? (body.tenants as { tenant?: unknown }[]) : [];
  return status === 200 && tenants.every(({ tenant }) => tenant === TENANT);
}

/** Never repeats the body of a success: it holds a key. */
function expectText({ status, body }: Answer, expected: number, field: string, failure: string): string {
  const value = body[field];
  if (status === expected && typeof value === "string") return value;
  const why = status === expected ? `the answer has no ${field}` : `${body.title ?? "no reason given"} (${status})`;
  throw new ExitError(`${failure}: ${why}${body.detail && status !== expected ? `: ${body.detail}` : ""}`);
}

function lostKeyMessage(dir: DataDir): string {
  return [
    `The tenant "${TENANT}" exists, but its admin key is not in ${dir.adminKey}.`,
    "Put the key back into that file (it is stored nowhere else),",
    `or start with an empty folder: SERVICE_DATA_DIR=<another folder> npm start`,
  ].join("\n");
}
