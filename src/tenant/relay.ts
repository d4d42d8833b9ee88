// Access to a worker's relay, and to the object that stores a large body.

import type { LastWords } from "../../contract/text/whole-events.ts";
import { NO_CONTENT, OK } from "../../contract/words/http-status.ts";
import { isEdgeInstance } from "../../domain/fleet/worker.ts";
import { bodyName, objectNamed, relayName } from "../../durable-objects/object-name.ts";
import type { Relay } from "../../durable-objects/relay/relay.ts";
import { holdUrl, queryOf, type ReadRequest } from "../../durable-objects/relay/relay-request.ts";
import type { Credential } from "../../durable-objects/steps/holders.ts";
import type { Env } from "../env.ts";
import type { TokenFacts } from "../http/key-format.ts";
import { isSelfHosted, type TenantName } from "./tenant-object.ts";

const jurisdictionOf = (env: Env, { jurisdiction }: TenantName) => (isSelfHosted(env) ? null : jurisdiction);

/** Self-hosted, a request may name what ends a broken answer. */
interface RelayObject extends Pick<Relay, "dropBody"> {
  readonly fetch: (url: string, init?: RequestInit & { ifLost?: LastWords }) => Promise<Response>;
}

const objectOf = (env: Env, name: TenantName, id: string): RelayObject =>
  objectNamed(env.RELAY, id, jurisdictionOf(env, name));

/** The coordinator's own worker is the relay of its streams. */
const relayOf = (env: Env, name: TenantName, instance: string): RelayObject => {
  const id = relayName(env, name.tenant, instance);
  if (!isEdgeInstance(instance)) return objectOf(env, name, id);
  return objectNamed(env.RUNNER, id, jurisdictionOf(env, name));
};

const bodyOf = (env: Env, name: TenantName, jobId: string): RelayObject =>
  objectOf(env, name, bodyName(name.tenant, jobId));

const ORIGIN = "https://relay";

/**
 * The events of an attempt, from the first one on; 424 if it ends without any, 410 if they are no longer stored.
 * Self-hosted they end with `ifLost`, if given, when the relay's process ends before they do.
 */
export const readRelay = (
  env: Env,
  name: TenantName,
  instance: string,
  asked: Omit<ReadRequest, "jurisdiction" | "instance">,
  ifLost?: LastWords,
): Promise<Response> => {
  const query = queryOf({ ...asked, instance, jurisdiction: jurisdictionOf(env, name) });
  const init = env.HOME === undefined || ifLost === undefined ? {} : { ifLost };
  return relayOf(env, name, instance).fetch(`${ORIGIN}/read?${query}`, init);
};

/** The tenant is asked again whether it is still valid. */
export const holderOf = ({ kind, id, hash }: TokenFacts): string =>
  JSON.stringify({ kind, id, hash } satisfies Credential);

export const writeRelay = (
  env: Env,
  name: TokenFacts,
  instance: string,
  { jobId, lease }: { jobId: string; lease: number },
  body: ReadableStream<Uint8Array> | null,
): Promise<Response> => {
  const wishes = { api: null, isNumbered: false, stripsUsage: false, keepAliveMs: 0, after: 0 };
  const query = queryOf({
    instance,
    jobId,
    lease,
    wishes,
    jurisdiction: jurisdictionOf(env, name),
    holder: holderOf(name),
  });
  return relayOf(env, name, instance).fetch(`${ORIGIN}/write?${query}`, { method: "POST", body });
};

export const openDataLine = (
  env: Env,
  name: TokenFacts,
  instance: string,
  line: { keyId: string; openedWith: string },
): Promise<Response> => {
  const opening = JSON.stringify({
    ...line,
    holder: holderOf(name),
    instance,
    jurisdiction: jurisdictionOf(env, name),
  });
  const headers = { upgrade: "websocket", "x-signalbox-line": opening };
  return relayOf(env, name, instance).fetch(`${ORIGIN}/line`, { headers });
};

/** The pieces are sent as they are: a body is never in memory twice. */
export const holdBody = async (
  env: Env,
  name: TenantName,
  jobId: string,
  pieces: readonly Uint8Array[],
): Promise<void> => {
  const held = await bodyOf(env, name, jobId).fetch(holdUrl(jobId), { method: "POST", body: streamOf(pieces) });
  if (held.status !== NO_CONTENT) throw new Error(`the body's object answered ${held.status}`);
  await held.text();
};

const streamOf = (pieces: readonly Uint8Array[]): ReadableStream<Uint8Array> => {
  const left = pieces.values();
  return new ReadableStream({
    pull: (controller) => {
      const { done, value } = left.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
  });
};

/** null if there is none, or no longer. */
export const readHeldBody = async (
  env: Env,
  name: TenantName,
  jobId: string,
): Promise<ReadableStream<Uint8Array> | null> => {
  const held = await bodyOf(env, name, jobId).fetch(holdUrl(jobId));
  if (held.status === OK) return held.body;
  await held.text();
  return null;
};

export const dropHeldBody = (env: Env, name: TenantName, jobId: string): Promise<void> =>
  bodyOf(env, name, jobId).dropBody(jobId);
