// One self-hosted server for all test files of a process, and a tenant of its own for each that asks. To start a server
// takes more CPU than most files' tests. Whoever stops a server, or sets its environment, starts one (self-hosted.ts).

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { succeed } from "./requests.ts";
import { type SelfHosted, startSelfHosted } from "./self-hosted.ts";

export interface Tenant {
  readonly url: string;
  readonly adminKey: string;
  /** Deletes the tenant: what it has scheduled is nobody else's load. */
  readonly close: () => Promise<void>;
}

const ROOT_KEY = "root-key-of-the-shared-server-0123456789";

const start = async (): Promise<SelfHosted> => {
  const dataDir = mkdtempSync(path.join(tmpdir(), "signalbox-shared-"));
  // The server ends with the process that started it.
  process.on("exit", () => rmSync(dataDir, { recursive: true, force: true }));
  return startSelfHosted(dataDir, { env: { SERVICE_ROOT_KEY: ROOT_KEY, SERVICE_CATALOG_SYNC: "0" } });
};

let shared: Promise<SelfHosted> | undefined;
let tenants = 0;

export const tenantForTests = async (): Promise<Tenant> => {
  // One that did not start is not every later file's failure.
  shared ??= start().catch((error) => {
    shared = undefined;
    throw error;
  });
  const { url } = await shared;
  const root = { url, key: ROOT_KEY };
  tenants += 1;
  const tenant = `tests-${tenants}`;
  const { admin_key: adminKey } = await succeed(root, "POST", "/admin/tenants", { tenant });
  const close = async (): Promise<void> => {
    await succeed(root, "DELETE", `/admin/tenants/${tenant}`);
  };
  return { url, adminKey, close };
};
