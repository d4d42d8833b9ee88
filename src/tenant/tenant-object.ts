// Access to a tenant's object. Only this file would change if a tenant were spread over several objects.

import type { Refusal } from "../../domain/words/refusal.ts";
import { err, type Result } from "../../domain/words/result.ts";
import type { GroupedCall } from "../../durable-objects/calls/grouped-calls.ts";
import type { Tenant } from "../../durable-objects/tenant.ts";
import { log } from "../../log/log.ts";
import type { Env } from "../env.ts";

const MAX_TRIES = 3;
const RETRY_BASE_MS = 20;
const OVERLOAD_RETRY_SECONDS = 2;

export interface TenantName {
  readonly tenant: string;
  readonly jurisdiction: "eu" | "fedramp" | null;
}

/**
 * Self-hosted there is only the operator's machine, and the runtime knows no jurisdictions. The binding that only `npm
 * start` sets decides this, not the runtime's abilities: an object must be found where it was created, even after a
 * runtime upgrade, and elsewhere a jurisdiction is honoured or refused, never ignored.
 */
export const isSelfHosted = (env: Env): boolean => env.LOCAL_NETWORK !== undefined || env.HOME !== undefined;

export const tenantObject = (
  env: Env,
  { tenant, jurisdiction }: TenantName,
  locationHint?: DurableObjectLocationHint,
): DurableObjectStub<Tenant> => {
  const namespace = jurisdiction === null || isSelfHosted(env) ? env.TENANT : env.TENANT.jurisdiction(jurisdiction);
  return namespace.getByName(tenant, locationHint === undefined ? {} : { locationHint });
};

/** Only the edge in Node has it. */
interface Grouped {
  readonly callInGroup: (call: GroupedCall) => Promise<string>;
}

/** What may be asked again if no answer came. */
type Repeatable = Pick<
  Tenant,
  | "leave"
  | "stay"
  | "endLeaving"
  | "readTable"
  | "makeRoom"
  | "moveHistory"
  | "writeTable"
  | "settleIn"
  | "watch"
  | "waitForJob"
  | "claimWaiting"
  | "leaveWait"
  | "bound"
  | "tellMetrics"
  | "learnCatalog"
  | "fileOf"
>;

type Remote = Grouped & Repeatable & Pick<Tenant, "ask" | "create" | "addAdminKey" | "admit">;

/** The result is plain data; the stub's own types wrap every answer a second time. */
export const remote = (stub: DurableObjectStub<Tenant>): Remote => stub as unknown as Remote;

/** SQLite's error text for a write without disk space. */
const DISK_IS_FULL = /SQLITE_FULL|database or disk is full/;
/** What the runtime reports when a commit finds no disk space. */
const OPAQUE = /^internal error/;
const STORAGE_RETRY_SECONDS = 30;
export const STORAGE_FULL: Refusal = { code: "storage_full", retryAfterSeconds: STORAGE_RETRY_SECONDS };

export const isDiskFull = (env: Env): boolean => env.HOME?.disk().state === "full";

const lacksSpace = (env: Env, message: string): boolean =>
  DISK_IS_FULL.test(message) || (OPAQUE.test(message) && isDiskFull(env));

/** A commit that finds no disk space ends its object: the edge in Node gets no answer. */
const unanswered = (env: Env): Refusal =>
  isDiskFull(env) ? STORAGE_FULL : { code: "tenant_unavailable", retryAfterSeconds: 1 };

interface PlatformError {
  readonly message: string;
  readonly retryable?: boolean;
  readonly overloaded?: boolean;
  /** The object was ended: by a deploy, at a limit of its CPU time or memory, or because it could not begin. */
  readonly durableObjectReset?: boolean;
}

/** The refusal of a request for which an object gave no answer; null for any other error, which is a defect. */
export const refusalOfLost = (env: Env, error: unknown): Refusal | null => {
  const { retryable, overloaded, durableObjectReset, message } = error as PlatformError;
  if (overloaded === true) return { code: "overloaded", retryAfterSeconds: OVERLOAD_RETRY_SECONDS };
  if (lacksSpace(env, message)) return STORAGE_FULL;
  if (durableObjectReset === true) log("warn", "object.reset", { detail: message });
  return retryable === true || durableObjectReset === true ? unanswered(env) : null;
};

/** Calls the object with a new stub per try; an overloaded object is not tried again. */
export const withTenant = async <T>(
  env: Env,
  name: TenantName,
  isRepeatable: boolean,
  use: (stub: DurableObjectStub<Tenant>) => Promise<Result<T, Refusal>>,
): Promise<Result<T, Refusal>> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await use(tenantObject(env, name));
    } catch (error) {
      const lost = refusalOfLost(env, error);
      if (lost === null) throw error;
      const isFinal = lost.code === "overloaded" || lacksSpace(env, (error as PlatformError).message);
      if (isFinal || !isRepeatable || tries >= MAX_TRIES) return err(lost);
      await scheduler.wait(RETRY_BASE_MS * 2 ** tries * Math.random());
    }
  }
};

type Method = (...asked: unknown[]) => Promise<Result<unknown, Refusal>>;

/** Asks what may be repeated. */
export const askObject = <Name extends keyof Repeatable>(
  env: Env,
  name: TenantName,
  method: Name,
  ...asked: Parameters<Repeatable[Name]>
): ReturnType<Repeatable[Name]> =>
  withTenant(env, name, true, (stub) =>
    (remote(stub) as unknown as Record<Name, Method>)[method](...asked),
  ) as ReturnType<Repeatable[Name]>;
