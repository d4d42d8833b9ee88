// The package for workers and clients, built for this release and served as a static asset.

import * as z from "zod";
import { NOT_FOUND } from "../../contract/http-status.ts";
import { notFound } from "../../domain/words/refusal.ts";
import { type Endpoint, endpoint } from "../endpoint/router.ts";
import { Refused } from "../http/refused.ts";

const PATH = "/signalbox.tgz";

const packageFile = endpoint(
  {
    method: "get",
    path: PATH,
    tag: "Service",
    needs: "none",
    operationId: "getPackage",
    summary: "Download the package for workers and clients",
    description:
      "An npm package of this release: the worker, the command line and the SDK, without dependencies. `npx <this address>` runs it. `If-None-Match` with the current ETag answers 304.",
    answers: {
      200: { description: "The package.", schema: z.string(), media: ["application/gzip"] },
      304: { description: "The package has not changed." },
    },
    refuses: ["not_found"],
  },
  async (c) => {
    const asset = await c.env.ASSETS.fetch(c.req.raw);
    if (asset.status === NOT_FOUND) throw new Refused(notFound("route", PATH));
    const response = new Response(asset.body, asset);
    response.headers.set("cache-control", "no-cache");
    if (asset.ok) response.headers.set("content-type", "application/gzip");
    return response;
  },
);

export const packageRoutes: readonly Endpoint[] = [packageFile];
