// The tenant `default` of a self-hosted server and its keys. The admin key is shown once, in the answer that creates
// the tenant. A start killed between that answer and the key file leaves a tenant without a known key; the first-start
// marker, written before any state and removed after the key file, distinguishes that case from a lost file.

import { existsSync, rmSync, writeFileSync } from "node:fs";
import { ApiProblem } from "../contract/client/problem.ts";
import { type Client, createClient } from "../contract/client.ts";
import type { DataDir } from "./data/data-dir.ts";
import { readSecret, syncDirectory, writeKept } from "./data/kept-secret.ts";
import { ExitError } from "./exit-error.ts";

export const TENANT = "default";
const REQUEST_TIMEOUT_MS = 30_000;

/** Before the runtime creates any state: is this a first start, or do keys exist without state? */
export function markFirstStart(dir: DataDir): void {
  if (existsSync(dir.state)) return;
  if (existsSync(dir.adminKey)) {
    const choice = `Restore ${dir.state}, or remove ${dir.adminKey} and ${dir.workerKey} to start empty`;
    throw new ExitError(`${dir.root} has keys but no state, so the keys are useless. ${choice}.`);
  }
  rmSync(dir.workerKey, { force: true });
  writeFileSync(dir.firstStart, "");
  syncDirectory(dir.root);
}

/** Whether the tenant's admin key is kept; then the first start is complete. */
export function isTenantKept(dir: DataDir): boolean {
  if (!readSecret(dir.adminKey)) return false;
  rmSync(dir.firstStart, { force: true });
  return true;
}

/**
 * Creates the tenant and keeps its key, if no key is kept yet. "stranded": an earlier first start was killed in between
 * and left nothing that was ever used, so its state may be deleted.
 */
export async function ensureDefaultTenant(url: string, rootKey: string, dir: DataDir): Promise<"ready" | "stranded"> {
  if (!isTenantKept(dir)) {
    const client = clientOf(url, rootKey);
    const adminKey = await makeTenant(client);
    if (adminKey === "exists") {
      if (existsSync(dir.firstStart) && (await isOnlyTenant(client))) return "stranded";
      throw new ExitError(lostKeyMessage(dir));
    }
    writeKept(dir.adminKey, adminKey);
  }
  rmSync(dir.firstStart, { force: true });
  return "ready";
}

/** A worker key for the local worker: created once with the admin key, then kept. */
export async function ensureWorkerKey(url: string, dir: DataDir): Promise<string> {
  const kept = readSecret(dir.workerKey);
  if (kept) return kept;
  const { keys } = clientOf(url, readSecret(dir.adminKey) ?? "");
  const { key } = await keys
    .create({ name: "local worker", role: "worker" })
    .catch((error) => failWith(`The local worker's key could not be made with the key in ${dir.adminKey}`, error));
  writeKept(dir.workerKey, key);
  return key;
}

/** Whether a kept key has ended: it was rotated or revoked, or its tenant was deleted. */
export async function isKeyRefused(url: string, key: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${key}` };
  const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
  const answer = await fetch(`${url}/config`, { headers, signal }).catch(() => null);
  await answer?.body?.cancel();
  return answer?.status === 401;
}

/** Each request once: the next start finds what an interrupted first start has done. */
function clientOf(url: string, key: string): Client {
  return createClient({ url, key, retries: 0, timeoutMs: REQUEST_TIMEOUT_MS });
}

async function makeTenant({ tenants }: Client): Promise<string | "exists"> {
  try {
    return (await tenants.create({ tenant: TENANT })).admin_key;
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 409) return "exists";
    return failWith("The tenant could not be created", error);
  }
}

async function isOnlyTenant({ tenants }: Client): Promise<boolean> {
  const { tenants: all } = await tenants.list().catch(() => ({ tenants: null }));
  return all?.every(({ tenant }) => tenant === TENANT) ?? false;
}

function failWith(failure: string, error: unknown): never {
  if (!(error instanceof ApiProblem)) throw error;
  throw new ExitError(`${failure}: ${error.title} (${error.status}): ${error.message}`);
}

function lostKeyMessage(dir: DataDir): string {
  return [
    `The tenant "${TENANT}" exists, but its admin key is not in ${dir.adminKey}.`,
    "Put the key back into that file (it is stored nowhere else),",
    `or start with an empty folder: SERVICE_DATA_DIR=<another folder> npm start`,
  ].join("\n");
}
