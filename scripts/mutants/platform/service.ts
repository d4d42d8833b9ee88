// What the tests of `*.workers.test.ts` import from `cloudflare:test` and `cloudflare:workers`, in plain Node: the
// service, with its real objects and tables. Loaded again with each change, it ends the service before it.

import "./globals.ts";
import service, { Relay, Tenant } from "../../../src/index.ts";
import { D1 } from "./d1.ts";
import { Namespace, type ObjectClass, type Stub } from "./namespace.ts";

const NOT_FOUND = 404;

const bindings: Record<string, unknown> = {
  DB: new D1(),
  ASSETS: { fetch: async () => new Response("", { status: NOT_FOUND }) },
  SERVICE_CATALOG_SYNC: "1",
  SERVICE_LOG: "off",
  SERVICE_ROOT_KEY: "root-key-of-the-tests",
  SERVICE_SIGNING_SECRET: "signing-secret-of-the-tests",
  TEST_HOME: "workerd",
};
const objects = {
  TENANT: new Namespace(Tenant as unknown as ObjectClass, bindings),
  RELAY: new Namespace(Relay as unknown as ObjectClass, bindings),
};
Object.assign(bindings, objects);

const holder = globalThis as { endService?: () => void };
holder.endService?.();
holder.endService = () => {
  for (const namespace of Object.values(objects)) namespace.end();
};

export const env = bindings;

class Context {
  readonly props = {};
  readonly underWay: Promise<unknown>[] = [];

  waitUntil = (work: Promise<unknown>): unknown => this.underWay.push(work);
  passThroughOnException = (): void => {};
}

export const createExecutionContext = (): Context => new Context();
export const waitOnExecutionContext = ({ underWay }: Context): Promise<unknown> => Promise.allSettled(underWay);

type Served = {
  fetch(request: Request, env: unknown, context: unknown): Promise<Response>;
  scheduled(event: unknown, env: unknown, context: unknown): Promise<void>;
};
const served = service as unknown as Served;

export const exports = {
  default: {
    fetch: (given: RequestInfo, init?: RequestInit) => served.fetch(new Request(given, init), env, new Context()),
    scheduled: (event: unknown) => served.scheduled(event, env, new Context()),
  },
};

export const evictDurableObject = ({ place }: Stub, { webSockets }: { webSockets?: "close" } = {}): Promise<void> =>
  place.evict(webSockets === "close");

export const runDurableObjectAlarm = ({ place }: Stub): Promise<boolean> => place.ring();

export const runInDurableObject = async <T>(
  { place }: Stub,
  work: (object: unknown, state: unknown) => T | Promise<T>,
): Promise<T> => {
  const { object, state } = await place.awake();
  return work(object, state);
};

export const listDurableObjectIds = async (namespace: Namespace): Promise<string[]> => namespace.names();
