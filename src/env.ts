// What the platform binds: wrangler.toml is the source, this its type.

import type { Relay } from "../durable-objects/relay.ts";
import type { Tenant } from "../durable-objects/tenant.ts";
import type { Home } from "./http/home.ts";

export interface Env {
  readonly TENANT: DurableObjectNamespace<Tenant>;
  readonly RELAY: DurableObjectNamespace<Relay>;
  readonly DB: D1Database;
  readonly ASSETS: Fetcher;
  /** Manages tenants and nothing else. */
  readonly SERVICE_ROOT_KEY?: string;
  /** Makes the tags of keys; changing it ends every key. */
  readonly SERVICE_SIGNING_SECRET?: string;
  /** Another secret whose keys are let in: of the deployment that a tenant came from. */
  readonly SERVICE_SIGNING_SECRET_ALSO?: string;
  /** `0` turns the catalog's sync loop off. */
  readonly SERVICE_CATALOG_SYNC?: string;
  /** `0` takes the local providers out of the catalog: tenants then reach no private address through it. */
  readonly SERVICE_CATALOG_LOCAL?: string;
  /** Self-hosted, the files of SERVICE_CATALOG_DIR: JSON of their texts by name. */
  readonly SERVICE_CATALOG_FILES?: string;
  /** Self-hosted, `<tenant>/<instance>` of the worker that `npm start` runs beside the server; no setting of a user's. */
  readonly SERVICE_AWAITED_WORKER?: string;
  /** Self-hosted, `<index>/<count>`: which tenants live in this process (`domain/share.ts`). */
  readonly SERVICE_SHARE?: string;
  /** Self-hosted, made at each start: what opens the private door. */
  readonly SERVICE_PRIVATE_SECRET?: string;
  /** Self-hosted, where the app runs in Node. */
  readonly HOME?: Home;
  /** `text`, `json` or `off`; and the least level of what is logged. */
  readonly SERVICE_LOG?: string;
  readonly SERVICE_LOG_LEVEL?: string;
  /** Where the spans of finished jobs go (`…/v1/traces`), and headers for it: `name=value,…`. */
  readonly SERVICE_OTLP_URL?: string;
  readonly SERVICE_OTLP_HEADERS?: string;
  /** `1` logs every request, not only those that went wrong. */
  readonly SERVICE_LOG_REQUESTS?: string;
  /** Self-hosted, `1` lets webhooks go to private addresses. */
  readonly SERVICE_WEBHOOKS_PRIVATE?: string;
  /**
   * Self-hosted, and nowhere else, the way to model runtimes on this machine and its network; `fetch` itself reaches
   * public hosts only.
   */
  readonly LOCAL_NETWORK?: Fetcher;
}
