// The packages for workers and clients, built for this release and served as static assets.

import * as z from "zod";
import { NOT_FOUND } from "../../contract/words/http-status.ts";
import { WHEEL_NAME } from "../../contract/words/wheel.ts";
import { notFound } from "../../domain/words/refusal.ts";
import { type Endpoint, endpoint } from "../endpoint/router.ts";
import type { AppContext } from "../http/auth.ts";
import { Refused } from "../http/refused.ts";

const PACKAGE = "/signalbox.tgz";
const WHEEL = `/${WHEEL_NAME}`;

const assetOf = async (c: AppContext, path: string, type: string): Promise<Response> => {
  const asset = await c.env.ASSETS.fetch(c.req.raw);
  if (asset.status === NOT_FOUND) throw new Refused(notFound("route", path));
  const response = new Response(asset.body, asset);
  response.headers.set("cache-control", "no-cache");
  if (asset.ok) response.headers.set("content-type", type);
  return response;
};

const packageFile = endpoint(
  {
    method: "get",
    path: PACKAGE,
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
  (c) => assetOf(c, PACKAGE, "application/gzip"),
);

const wheelFile = endpoint(
  {
    method: "get",
    path: WHEEL,
    tag: "Service",
    needs: "none",
    operationId: "getWheel",
    summary: "Download the package for Python",
    description:
      "A wheel of this release: a worker and a client in one module, for Python 3.9 or later, without dependencies. `pip install <this address>` installs it. `If-None-Match` with the current ETag answers 304.",
    answers: {
      200: { description: "The wheel.", schema: z.string(), media: ["application/zip"] },
      304: { description: "The wheel has not changed." },
    },
    refuses: ["not_found"],
  },
  (c) => assetOf(c, WHEEL, "application/zip"),
);

const wheelAddress = endpoint(
  {
    method: "get",
    path: "/signalbox.whl",
    tag: "Service",
    needs: "none",
    operationId: "findWheel",
    summary: "Find the package for Python",
    description: "Redirects to the wheel of this release. pip needs the whole name.",
    answers: { 302: { description: "The wheel's address.", headers: { Location: "The path of the wheel." } } },
  },
  async (c) => c.redirect(WHEEL),
);

export const packageRoutes: readonly Endpoint[] = [packageFile, wheelFile, wheelAddress];
