// The way from the edge in Node to the objects in workerd, self-hosted: `/<binding>/<object's name>` hands the request
// over to the object, which opens its line or streams its answer. It is served on a Unix socket that only the server's
// account reaches, and opens with a secret made at each start. On Cloudflare nothing leads here, and without a secret
// nothing opens.

import { WorkerEntrypoint } from "cloudflare:workers";
import { NOT_FOUND } from "../contract/words/http-status.ts";
import type { Env } from "./env.ts";

export class PrivateDoor extends WorkerEntrypoint<Env> {
  override async fetch(request: Request): Promise<Response> {
    const secret = this.env.SERVICE_PRIVATE_SECRET ?? "";
    const isOurs = secret !== "" && request.headers.get("authorization") === secret;
    if (!isOurs) return new Response(null, { status: NOT_FOUND });
    const [, binding = "", name = ""] = new URL(request.url).pathname.split("/").map(decodeURIComponent);
    const namespace = (this.env as unknown as Record<string, DurableObjectNamespace>)[binding];
    if (namespace === undefined) return new Response(null, { status: NOT_FOUND });
    return namespace.getByName(name).fetch(urlOf(request), request);
  }
}

/** What the object is asked. */
const urlOf = (request: Request): string => request.headers.get("x-signalbox-url") ?? request.url;
