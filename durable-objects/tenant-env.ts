// The platform's bindings that a tenant's object needs, and what they decide.

import { isMaxGb } from "../domain/tenant/max-gb.ts";
import { BYTES_A_GB } from "../domain/tenant/storage-use.ts";
import type { Databases } from "../domain/tenant/tenant-database.ts";
import type { LogSettings } from "../log/log.ts";
import type { StoredFile } from "./files/stored-file.ts";
import type { OtlpSettings } from "./history/span-exporter.ts";
import type { Jurisdiction, RelayLayout } from "./object-name.ts";
import type { Relay } from "./relay/relay.ts";
import type { Store } from "./store/open.ts";
import { DEFAULT_BOUNDS, type StorageBounds } from "./turn/memory/storage-memory.ts";

export interface TenantEnv extends LogSettings, OtlpSettings, Databases<D1Database>, RelayLayout {
  readonly RELAY: DurableObjectNamespace<Relay>;
  /** Calls providers for the tenant. */
  readonly RUNNER: DurableObjectNamespace<Relay>;
  /** Where people reach the service. */
  readonly SERVICE_PUBLIC_URL?: string;
  /** Signs links to files. */
  readonly SERVICE_SIGNING_SECRET?: string;
  /** What each tenant may store, in GB. */
  readonly SERVICE_TENANT_MAX_GB?: string;
  /** What one database of history may hold, in GB; empty: as much as its disk. */
  readonly SERVICE_HISTORY_MAX_GB?: string;
  /** The defaults of `history.keep_days` and `history.keep_texts_days`. */
  readonly SERVICE_HISTORY_KEEP_DAYS?: string;
  readonly SERVICE_HISTORY_KEEP_TEXTS_DAYS?: string;
  readonly FILES: DurableObjectNamespace<StoredFile>;
  /** `1` allows webhooks to private addresses. */
  readonly SERVICE_WEBHOOKS_PRIVATE?: string;
}

const gbOf = (given = ""): number | null => (isMaxGb(given) ? Number(given) : null);

/** A value that is no number is refused where the service starts. */
export const boundsOf = ({ SERVICE_TENANT_MAX_GB, SERVICE_HISTORY_MAX_GB }: TenantEnv): StorageBounds => {
  const historyGb = gbOf(SERVICE_HISTORY_MAX_GB);
  const historyBytes = historyGb === null ? null : historyGb * BYTES_A_GB;
  return { ...DEFAULT_BOUNDS, maxGb: gbOf(SERVICE_TENANT_MAX_GB) ?? DEFAULT_BOUNDS.maxGb, historyBytes };
};

/** Self-hosted, a tenant and its relays have no jurisdiction. */
export const jurisdictionOf = (env: TenantEnv, store: Store): Jurisdiction | null =>
  env.LOCAL_NETWORK === undefined ? ((store.settings.identity()?.jurisdiction ?? null) as Jurisdiction | null) : null;

/** Webhooks reach private addresses only if the operator of a self-hosted service allows it. */
export const webhookFetch = ({ LOCAL_NETWORK: network, SERVICE_WEBHOOKS_PRIVATE }: TenantEnv): typeof fetch =>
  SERVICE_WEBHOOKS_PRIVATE === "1" && network !== undefined
    ? (url, init) => network.fetch(url, init)
    : (url, init) => fetch(url, init);
