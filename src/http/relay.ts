// Access to a worker's relay, and to the object that stores a large body.

import { bodyName, objectNamed, relayName } from "../../durable-objects/object-name.ts";
import type { Relay } from "../../durable-objects/relay.ts";
import { HOLD_URL, queryOf, type ReadRequest } from "../../durable-objects/relay-request.ts";
import type { Env } from "../env.ts";
import { isSelfHosted, type TenantName } from "./tenant.ts";

const jurisdictionOf = (env: Env, { jurisdiction }: TenantName) => (isSelfHosted(env) ? null : jurisdiction);

const relayOf = (env: Env, name: TenantName, instance: string): DurableObjectStub<Relay> =>
  objectNamed(env.RELAY, relayName(name.tenant, instance), jurisdictionOf(env, name));

const NO_CONTENT = 204;
const ORIGIN = "https://relay";

/**
 * The events of an attempt, from the first one on; 424 if it ends without any, 410 if they are no longer stored.
 * Self-hosted they end with `ifLost`, if given, when the relay's process ends before they do.
 */
export const readRelay = async (
  env: Env,
  name: TenantName,
  instance: string,
  asked: Omit<ReadRequest, "jurisdiction">,
  ifLost?: string,
): Promise<Response> => {
  const query = queryOf({ ...asked, jurisdiction: jurisdictionOf(env, name) });
  const init: object = env.HOME === undefined ? {} : { ifLost };
  return (await relayOf(env, name, instance).fetch(`${ORIGIN}/read?${query}`, init)) as unknown as Response;
};

export const writeRelay = async (
  env: Env,
  name: TenantName,
  instance: string,
  { jobId, lease }: { jobId: string; lease: number },
  body: ReadableStream<Uint8Array> | null,
): Promise<Response> => {
  const wishes = { api: null, isNumbered: false, stripsUsage: false, keepAliveMs: 0, after: 0 };
  const query = queryOf({ jobId, lease, wishes, jurisdiction: jurisdictionOf(env, name) });
  const request = { method: "POST", body } as unknown as RequestInit;
  return (await relayOf(env, name, instance).fetch(
    `${ORIGIN}/write?${query}`,
    request as never,
  )) as unknown as Response;
};

export const openDataLine = async (
  env: Env,
  name: TenantName,
  instance: string,
  line: { keyId: string; openedWith: string },
): Promise<Response> => {
  const headers = { upgrade: "websocket", "x-signalbox-line": JSON.stringify(line) };
  return (await relayOf(env, name, instance).fetch(`${ORIGIN}/line`, { headers })) as unknown as Response;
};

const bodyObject = (env: Env, name: TenantName, jobId: string): DurableObjectStub<Relay> =>
  objectNamed(env.RELAY, bodyName(name.tenant, jobId), jurisdictionOf(env, name));

/** The result is plain data; the stub's types wrap it a second time. */
const heldBody = (env: Env, name: TenantName, jobId: string): Pick<Relay, "readBody" | "dropBody"> =>
  bodyObject(env, name, jobId) as never;

export const holdBody = async (env: Env, name: TenantName, jobId: string, text: string): Promise<void> => {
  const request = { method: "POST", body: new Response(text).body } as unknown as RequestInit;
  const held = await bodyObject(env, name, jobId).fetch(HOLD_URL, request as never);
  if (held.status !== NO_CONTENT) throw new Error(`the body's object answered ${held.status}`);
  await held.text();
};

export const readHeldBody = (env: Env, name: TenantName, jobId: string): Promise<string | null> =>
  heldBody(env, name, jobId).readBody();

export const dropHeldBody = (env: Env, name: TenantName, jobId: string): Promise<void> =>
  heldBody(env, name, jobId).dropBody();
