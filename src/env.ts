// The types of the platform's bindings; wrangler.toml is the source.

import type { Databases } from "../domain/tenant/tenant-database.ts";
import type { StoredFile } from "../durable-objects/files/stored-file.ts";
import type { Relay } from "../durable-objects/relay/relay.ts";
import type { Tenant } from "../durable-objects/tenant.ts";
import type { ArchiveFolder, Home } from "./home.ts";

/** The databases with the history: `DB`, and further ones if there are any. */
export interface Env extends Databases<D1Database> {
  readonly TENANT: DurableObjectNamespace<Tenant>;
  readonly RELAY: DurableObjectNamespace<Relay>;
  readonly RUNNER: DurableObjectNamespace<Relay>;
  readonly FILES: DurableObjectNamespace<StoredFile>;
  readonly ASSETS: Fetcher;
  /** Where old jobs go; without it they are deleted. Self-hosted it is the folder. */
  readonly ARCHIVE?: R2Bucket;
  readonly ARCHIVE_FOLDER?: ArchiveFolder;
  /** The root key, which manages tenants and nothing else. */
  readonly SERVICE_ROOT_KEY?: string;
  /** The secret that tags keys; changing it ends every key. */
  readonly SERVICE_SIGNING_SECRET?: string;
  /** Another secret whose keys are accepted: that of the deployment a tenant moved from. */
  readonly SERVICE_SIGNING_SECRET_ALSO?: string;
  /** `0` turns the catalog's sync off. */
  readonly SERVICE_CATALOG_SYNC?: string;
  /** The defaults of `history.keep_days` and `history.keep_texts_days`. */
  readonly SERVICE_HISTORY_KEEP_DAYS?: string;
  readonly SERVICE_HISTORY_KEEP_TEXTS_DAYS?: string;
  /** `0` removes the local providers from the catalog: tenants then reach no private address through it. */
  readonly SERVICE_CATALOG_LOCAL?: string;
  /** Self-hosted, the files of SERVICE_CATALOG_DIR: JSON of their texts by name. */
  readonly SERVICE_CATALOG_FILES?: string;
  /** Self-hosted, `<tenant>/<instance>` of the worker that `npm start` runs; users do not set it. */
  readonly SERVICE_AWAITED_WORKER?: string;
  /** Self-hosted, `<index>/<count>`: which tenants live in this process (`domain/tenant/share.ts`). */
  readonly SERVICE_SHARE?: string;
  /** Self-hosted, made at each start: the secret of the private connection. */
  readonly SERVICE_PRIVATE_SECRET?: string;
  /** Self-hosted, if the app runs in Node. */
  readonly HOME?: Home;
  /** `text`, `json` or `off`; and the lowest level that is logged. */
  readonly SERVICE_LOG?: string;
  readonly SERVICE_LOG_LEVEL?: string;
  /** The address for spans of finished jobs (`…/v1/traces`), and its headers: `name=value,…`. */
  readonly SERVICE_OTLP_URL?: string;
  readonly SERVICE_OTLP_HEADERS?: string;
  /** `1` logs every request, not only those that failed. */
  readonly SERVICE_LOG_REQUESTS?: string;
  /** The tenants whose calls of providers may use the operator's keys, separated by commas (`default`; `*` for all). */
  readonly SERVICE_EDGE_TENANTS?: string;
  /** What each tenant may store, in GB (20). */
  readonly SERVICE_TENANT_MAX_GB?: string;
  /** Where people reach the service, as `https://jobs.example.com`; else the address of each request. */
  readonly SERVICE_PUBLIC_URL?: string;
  /** How people sign in, for tenants without a config of their own: YAML. */
  readonly SERVICE_SIGN_IN?: string;
  /** Self-hosted, `1` allows identity providers at private addresses and over http. */
  readonly SERVICE_SIGN_IN_PRIVATE?: string;
  /** Self-hosted, `1` allows webhooks to private addresses. */
  readonly SERVICE_WEBHOOKS_PRIVATE?: string;
  /**
   * Self-hosted only: the network that reaches model runtimes on this machine and its network; `fetch` reaches public
   * hosts only.
   */
  readonly LOCAL_NETWORK?: Fetcher;
  /** Self-hosted only. */
  readonly SHARED_RELAYS?: string;
}
