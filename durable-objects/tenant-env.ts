// The platform's bindings that a tenant's object needs, and what they decide.

import type { LogSettings } from "../contract/log.ts";
import type { StoredFile } from "./files/stored-file.ts";
import type { Jurisdiction } from "./object-name.ts";
import type { Relay } from "./relay.ts";
import type { OtlpSettings } from "./span-exporter.ts";
import type { Store } from "./store/open.ts";

export interface TenantEnv extends LogSettings, OtlpSettings {
  readonly RELAY: DurableObjectNamespace<Relay>;
  readonly FILES: DurableObjectNamespace<StoredFile>;
  /** `1` allows webhooks to private addresses. */
  readonly SERVICE_WEBHOOKS_PRIVATE?: string;
}

/** Self-hosted, a tenant and its relays have no jurisdiction. */
export const jurisdictionOf = (env: TenantEnv, store: Store): Jurisdiction | null =>
  env.LOCAL_NETWORK === undefined ? ((store.settings.identity()?.jurisdiction ?? null) as Jurisdiction | null) : null;

/** Webhooks reach private addresses only if the operator of a self-hosted service allows it. */
export const webhookFetch = ({ LOCAL_NETWORK: network, SERVICE_WEBHOOKS_PRIVATE }: TenantEnv): typeof fetch =>
  SERVICE_WEBHOOKS_PRIVATE === "1" && network !== undefined
    ? (url, init) => network.fetch(url, init)
    : (url, init) => fetch(url, init);
