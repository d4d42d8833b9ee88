// What a key's holder asks of its tenant's object.

import type { ClaimAnswer } from "../../contract/fleet/worker.ts";
import type { Permission } from "../../domain/access/key.ts";
import { HISTORY_UNAVAILABLE, type Refusal } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import { type AnswerOf, OPERATIONS, type OperationName, type RequestOf } from "../../durable-objects/api.ts";
import { databaseOfLine, type GroupedCall, readLine, type Written } from "../../durable-objects/calls/grouped-calls.ts";
import type { Asking, DoorAnswer } from "../../durable-objects/operations/front-door/ask.ts";
import type { AskWait, Followed } from "../../durable-objects/operations/front-door/follow.ts";
import type { Credential } from "../../durable-objects/steps/holders.ts";
import type { Tenant } from "../../durable-objects/tenant.ts";
import type { Env } from "../env.ts";
import type { AppContext } from "../http/auth.ts";
import type { TokenFacts } from "../http/key-format.ts";
import { Refused, unwrap } from "../http/refused.ts";
import { askObject, isDiskFull, remote, STORAGE_FULL, withTenant } from "./tenant-object.ts";

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
): Promise<Result<AnswerOf<Name>, Refusal>> => {
  const written = await callTenantForText(env, token, name, request);
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
  return withTenant(env, token, isRepeatable, (stub) => callObject(env, token, stub, { credential, name, request }));
};

/** Node sends the call in a group; here it goes as text of its own. The answer says where history is. */
const callObject = async <T>(
  env: Env,
  token: TokenFacts,
  stub: DurableObjectStub<Tenant>,
  call: GroupedCall,
): Promise<Result<Written<T>, Refusal>> => {
  const line = await (env.HOME === undefined ? stub.callText(JSON.stringify(call)) : remote(stub).callInGroup(call));
  token.database = databaseOfLine(line);
  return readLine(line);
};

const AUTHORIZATION = {
  work: "authorizeWork",
  consult: "authorizeConsult",
  operate: "authorizeOperate",
  observe: "authorizeRead",
  administer: "authorizeAdmin",
  ask: "authorizeAsk",
  review: "authorizeReview",
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
    callObject(env, token, stub, { credential, name: AUTHORIZATION[needs], request: null }),
  );

/** An ended key is refused as such, before the full disk is mentioned. */
const refuseForRoom = async (
  env: Env,
  token: TokenFacts,
  credential: Credential,
  needs: Permission,
): Promise<Result<never, Refusal>> => {
  const authorized = await authorizeFor(env, token, needs, credential);
  return authorized.ok ? err(STORAGE_FULL) : authorized;
};

/** The object is told when the client leaves: a wait for nobody would take what others wait for. */
const whileThere = async <T>(
  c: AppContext,
  token: TokenFacts,
  wait: (credential: Credential, caller: string) => Promise<T>,
): Promise<T> => {
  const caller = crypto.randomUUID();
  const { signal } = c.req.raw;
  const leave = (): void =>
    c.executionCtx.waitUntil(askObject(c.env, token, "leaveWait", caller).catch(() => undefined));
  signal.addEventListener("abort", leave, { once: true });
  return wait(firstCredentialOf(token), caller).finally(() => signal.removeEventListener("abort", leave));
};

/** Until it is final, or the time has passed. */
export const waitForJob = (
  c: AppContext,
  token: TokenFacts,
  id: string,
  waitMs: number,
): Promise<Result<null, Refusal>> =>
  whileThere(c, token, (credential, caller) => askObject(c.env, token, "waitForJob", credential, id, waitMs, caller));

export const claimWaiting = (
  c: AppContext,
  token: TokenFacts,
  request: { instance: string; max: number },
  waitMs: number,
): Promise<Result<ClaimAnswer, Refusal>> =>
  whileThere(c, token, (credential, caller) =>
    askObject(c.env, token, "claimWaiting", credential, request, waitMs, caller),
  );

/** Never repeated automatically: the request might be answered twice. */
export const askTenant = (
  env: Env,
  token: TokenFacts,
  request: Asking,
  wait: AskWait,
): Promise<Result<DoorAnswer, Refusal>> => {
  const credential = firstCredentialOf(token);
  if (isDiskFull(env)) return refuseForRoom(env, token, credential, "ask");
  return withTenant(env, token, false, (stub) => remote(stub).ask(credential, request, wait));
};

export const watchJob = (
  c: AppContext,
  token: TokenFacts,
  request: Parameters<Tenant["watch"]>[1],
  waitMs: number,
): Promise<Result<Followed, Refusal>> =>
  whileThere(c, token, (credential, caller) => askObject(c.env, token, "watch", credential, request, waitMs, caller));

/** Waits until history has every earlier change; throws if the history store is down. */
export const drainTenant = async (env: Env, token: TokenFacts): Promise<void> => {
  const drained = await withTenant(env, token, true, async (stub) => ok(await stub.drain()));
  if (!unwrap(drained)) throw new Refused(HISTORY_UNAVAILABLE);
};
