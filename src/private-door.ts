// The way from the edge in Node to the objects in workerd, self-hosted: `POST /<binding>/<object's name>/<method>`, the
// arguments as a JSON array, the outcome as JSON; or `fetch`, which hands the request over and streams its answer, or
// opens the object's line. It is served on a Unix socket that only the server's account reaches, and opens with a secret
// made at each start. On Cloudflare nothing leads here, and without a secret nothing opens.

import { WorkerEntrypoint } from "cloudflare:workers";
import { type Outcome, thrownOf } from "../durable-objects/grouped-calls.ts";
import type { Env } from "./env.ts";

const NOT_FOUND = 404;

type Method = (...args: readonly unknown[]) => Promise<unknown>;

export class PrivateDoor extends WorkerEntrypoint<Env> {
  override async fetch(request: Request): Promise<Response> {
    const secret = this.env.SERVICE_PRIVATE_SECRET ?? "";
    const isOurs = secret !== "" && request.headers.get("authorization") === secret;
    if (!isOurs) return new Response(null, { status: NOT_FOUND });
    const [, binding = "", name = "", method = ""] = new URL(request.url).pathname.split("/").map(decodeURIComponent);
    const namespace = (this.env as unknown as Record<string, DurableObjectNamespace>)[binding];
    if (namespace === undefined) return new Response(null, { status: NOT_FOUND });
    const object = namespace.getByName(name);
    if (method === "fetch") return object.fetch(urlOf(request), request);
    const stub = object as unknown as Record<string, Method>;
    return new Response(await outcomeOf(stub, method, await request.text()));
  }
}

/** A request for the object itself, whose answer is a stream. */
const urlOf = (request: Request): string => request.headers.get("x-signalbox-url") ?? request.url;

const outcomeOf = async (stub: Record<string, Method>, method: string, body: string): Promise<string> => {
  try {
    const value = await stub[method]?.(...(JSON.parse(body) as unknown[]));
    return JSON.stringify({ value: value ?? null } satisfies Outcome);
  } catch (error) {
    return JSON.stringify({ thrown: thrownOf(error) } satisfies Outcome);
  }
};
