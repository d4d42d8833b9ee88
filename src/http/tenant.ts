// Access to a tenant's object. Only this file would change if a tenant were spread over several objects.

import type { JobResource } from "../../contract/job.ts";
import type { KeyResource } from "../../contract/key.ts";
import type { ClaimAnswer } from "../../contract/worker.ts";
import type { Permission } from "../../domain/key.ts";
import type { TableRows } from "../../domain/moved-rows.ts";
import type { Refusal } from "../../domain/refusal.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import { type AnswerOf, OPERATIONS, type OperationName, type RequestOf } from "../../durable-objects/api.ts";
import { type GroupedCall, readLine, type Written } from "../../durable-objects/grouped-calls.ts";
import type { CatalogReport } from "../../durable-objects/operations/catalog.ts";
import type { Asked, Asking, AskWait, Followed } from "../../durable-objects/operations/front-door.ts";
import type { Credential, NewKey, NewTenant } from "../../durable-objects/operations/keys.ts";
import type { Departure } from "../../durable-objects/operations/moving.ts";
import type { Tenant } from "../../durable-objects/tenant.ts";
import type { Env } from "../env.ts";
import type { TokenFacts } from "./key-format.ts";
import { historyUnavailable, Refused, unwrap } from "./refused.ts";

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

/** SQLite's error text for a write without disk space. */
const DISK_IS_FULL = /SQLITE_FULL|database or disk is full/;
/** What the runtime reports when a commit finds no disk space. */
const OPAQUE = /^internal error/;
const STORAGE_RETRY_SECONDS = 30;

const isDiskFull = (env: Env): boolean => env.HOME?.disk().state === "full";

const lacksSpace = (env: Env, message: string): boolean =>
  DISK_IS_FULL.test(message) || (OPAQUE.test(message) && isDiskFull(env));

/** A commit that finds no disk space ends its object: the edge in Node gets no answer. */
const unanswered = (env: Env): Refusal =>
  isDiskFull(env)
    ? { code: "storage_full", retryAfterSeconds: STORAGE_RETRY_SECONDS }
    : { code: "tenant_unavailable", retryAfterSeconds: 1 };

interface PlatformError {
  readonly message: string;
  readonly retryable?: boolean;
  readonly overloaded?: boolean;
}

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
      const { retryable, overloaded, message } = error as PlatformError;
      if (overloaded === true) return err({ code: "overloaded", retryAfterSeconds: OVERLOAD_RETRY_SECONDS });
      if (lacksSpace(env, message)) return err({ code: "storage_full", retryAfterSeconds: STORAGE_RETRY_SECONDS });
      if (retryable !== true) throw error;
      if (!isRepeatable || tries >= MAX_TRIES) return err(unanswered(env));
      await scheduler.wait(RETRY_BASE_MS * 2 ** tries * Math.random());
    }
  }
};

export const credentialOf = ({ kind, id, hash, requestId, underWay }: TokenFacts): Credential => ({
  kind,
  id,
  hash,
  requestId,
  underWay,
});

/** A request counts once against its key's limits, however many calls it makes to the object. */
const firstCredentialOf = (token: TokenFacts): Credential => {
  const credential = credentialOf(token);
  token.underWay = undefined;
  return credential;
};

/** Calls one operation of the token's tenant. */
export const callTenant = async <Name extends OperationName>(
  env: Env,
  token: TokenFacts,
  name: Name,
  request: RequestOf<Name>,
  isRepeatable: boolean = OPERATIONS[name].isRepeatable,
): Promise<Result<AnswerOf<Name>, Refusal>> => {
  const written = await callTenantForText(env, token, name, request, isRepeatable);
  return written.ok ? ok(written.value.read()) : written;
};

/** The same, for an answer that is passed on as the object wrote it. */
export const callTenantForText = <Name extends OperationName>(
  env: Env,
  token: TokenFacts,
  name: Name,
  request: RequestOf<Name>,
  isRepeatable: boolean = OPERATIONS[name].isRepeatable,
): Promise<Result<Written<AnswerOf<Name>>, Refusal>> => {
  const credential = firstCredentialOf(token);
  if (OPERATIONS[name].needsRoom && isDiskFull(env))
    return refuseForRoom(env, token, credential, OPERATIONS[name].needs);
  return withTenant(env, token, isRepeatable, (stub) => callObject(env, stub, { credential, name, request }));
};

/** Node sends the call in a group; here it goes as text of its own. */
const callObject = async <T>(
  env: Env,
  stub: DurableObjectStub<Tenant>,
  call: GroupedCall,
): Promise<Result<Written<T>, Refusal>> =>
  readLine(await (env.HOME === undefined ? stub.callText(JSON.stringify(call)) : remote(stub).callInGroup(call)));

const AUTHORIZATION = {
  work: "authorizeWork",
  consult: "authorizeConsult",
  operate: "authorizeOperate",
  observe: "authorizeRead",
  administer: "authorizeAdmin",
  ask: "authorizeAsk",
  follow: "authorizeFollow",
} as const satisfies Record<Permission, OperationName>;

/** Whether the key is active and has the permission; the object decides. */
export const authorizeFor = (
  env: Env,
  token: TokenFacts,
  needs: Permission,
  credential: Credential = firstCredentialOf(token),
): Promise<Result<unknown, Refusal>> =>
  withTenant<unknown>(env, token, true, (stub) =>
    callObject(env, stub, { credential, name: AUTHORIZATION[needs], request: null }),
  );

/** An ended key is refused as such, before the full disk is mentioned. */
const refuseForRoom = async (
  env: Env,
  token: TokenFacts,
  credential: Credential,
  needs: Permission,
): Promise<Result<never, Refusal>> => {
  const authorized = await authorizeFor(env, token, needs, credential);
  return authorized.ok ? err({ code: "storage_full", retryAfterSeconds: STORAGE_RETRY_SECONDS }) : authorized;
};

export const waitForJob = (
  env: Env,
  token: TokenFacts,
  id: string,
  waitMs: number,
): Promise<Result<JobResource, Refusal>> => {
  const credential = firstCredentialOf(token);
  return withTenant(env, token, true, (stub) => remote(stub).getJobWaiting(credential, id, waitMs));
};

export const claimWaiting = (
  env: Env,
  token: TokenFacts,
  request: { instance: string; max: number },
  waitMs: number,
): Promise<Result<ClaimAnswer, Refusal>> => {
  const credential = firstCredentialOf(token);
  return withTenant(env, token, true, (stub) => remote(stub).claimWaiting(credential, request, waitMs));
};

/** Never repeated automatically: the request might be answered twice. */
export const askTenant = (
  env: Env,
  token: TokenFacts,
  request: Asking,
  wait: AskWait,
): Promise<Result<Asked, Refusal>> => {
  const credential = firstCredentialOf(token);
  if (isDiskFull(env)) return refuseForRoom(env, token, credential, "ask");
  return withTenant(env, token, false, (stub) => remote(stub).ask(credential, request, wait));
};

export const watchJob = (
  env: Env,
  token: TokenFacts,
  request: Parameters<Tenant["watch"]>[1],
  waitMs: number,
): Promise<Result<Followed, Refusal>> => {
  const credential = firstCredentialOf(token);
  return withTenant(env, token, true, (stub) => remote(stub).watch(credential, request, waitMs));
};

/** Created near `request.locationHint` by the first call to the object; then history learns of it. */
export const createTenant = async (env: Env, request: NewTenant): Promise<Result<null, Refusal>> => {
  const object = tenantObject(env, request, request.locationHint ?? undefined);
  const created = await remote(object).create(request);
  if (created.ok) await object.drain();
  return created;
};

/** Adds an admin key to a tenant. */
export const addAdminKey = (env: Env, name: TenantName, key: NewKey): Promise<Result<KeyResource, Refusal>> =>
  withTenant(env, name, false, (stub) => remote(stub).addAdminKey(key));

/** The steps of a move; each may be repeated. */
export const leaveTenant = (env: Env, name: TenantName, to: string): Promise<Result<Departure, Refusal>> =>
  withTenant(env, name, true, (stub) => remote(stub).leave(to));

export const stayTenant = (env: Env, name: TenantName): Promise<Result<null, Refusal>> =>
  withTenant(env, name, true, (stub) => remote(stub).stay());

export const readTenantTable = async (env: Env, name: TenantName, table: string, from: number, maxChars: number) =>
  unwrap(await withTenant(env, name, true, (stub) => remote(stub).readTable(table, from, maxChars)));

export const makeRoom = (env: Env, name: TenantName, schema: number): Promise<Result<null, Refusal>> =>
  withTenant(env, name, true, (stub) => remote(stub).makeRoom(schema));

export const writeTenantTable = (
  env: Env,
  name: TenantName,
  table: string,
  part: TableRows,
): Promise<Result<null, Refusal>> => withTenant(env, name, true, (stub) => remote(stub).writeTable(table, part));

export const settleTenant = (env: Env, name: TenantName): Promise<Result<null, Refusal>> =>
  withTenant(env, name, true, (stub) => remote(stub).settleIn());

/** Ends the tenant's keys, sockets and live data; history is left. */
export const destroyTenant = async (env: Env, name: TenantName): Promise<void> => {
  unwrap(await withTenant(env, name, true, async (stub) => ok(await stub.destroy())));
};

/** Gives a sync's result to the tenant's routing and cost; `models: null` if nothing follows the provider any more. */
export const learnCatalog = async (env: Env, name: TenantName, report: CatalogReport): Promise<void> => {
  await withTenant(env, name, true, (stub) => remote(stub).learnCatalog(report));
};

export const isSyncHalted = (env: Env, name: TenantName): Promise<boolean> => tenantObject(env, name).isSyncHalted();

/** Only the edge in Node has it. */
interface Grouped {
  readonly callInGroup: (call: GroupedCall) => Promise<string>;
}

type Remote = Grouped &
  Pick<
    Tenant,
    | "leave"
    | "stay"
    | "readTable"
    | "makeRoom"
    | "writeTable"
    | "settleIn"
    | "ask"
    | "watch"
    | "getJobWaiting"
    | "claimWaiting"
    | "create"
    | "addAdminKey"
    | "learnCatalog"
  >;

/** The result is plain data; the stub's own types wrap every answer a second time. */
const remote = (stub: DurableObjectStub<Tenant>): Remote => stub as unknown as Remote;

/** Waits until history has every earlier change; throws if the history store is down. */
export const drainTenant = async (env: Env, token: TokenFacts): Promise<void> => {
  const drained = await withTenant(env, token, true, async (stub) => ok(await stub.drain()));
  if (!unwrap(drained)) throw new Refused(historyUnavailable);
};
