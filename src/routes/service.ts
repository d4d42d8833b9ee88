// The service itself: health, metrics, the OpenAPI document and its page.

import * as z from "zod";
import { identifier } from "../../contract/words/field.ts";
import { VERSION } from "../../contract/words/version.ts";
import { notFound } from "../../domain/words/refusal.ts";
import { MIB } from "../../domain/words/size.ts";
import { type OpenApiDocument, openApiDocument } from "../endpoint/openapi.ts";
import { type Endpoint, endpoint } from "../endpoint/router.ts";
import type { Home } from "../home.ts";
import { answer } from "../http/answer.ts";
import type { AppContext } from "../http/auth.ts";
import { Refused } from "../http/refused.ts";
import { isStarting } from "../tenant/readiness.ts";
import { type DocsPages, docsPages } from "./docs/docs-page.ts";
import { MAX_QUERY_CHARS } from "./docs/docs-search.ts";
import { metrics } from "./metrics.ts";

const BASE = { method: "get", tag: "Service", needs: "none" } as const;
const STARTING = { status: "starting", version: VERSION };
const RETRY_AFTER_SECONDS = "1";
const healthOf = <Status extends string>(status: Status) =>
  z.object({ status: z.literal(status), version: z.string(), warnings: z.array(z.string()).optional() });

const warningsOf = (home: Home | undefined): string[] => {
  const disk = home?.disk();
  if (disk === undefined || disk.state === "ok") return [];
  const left = `${Math.floor(disk.freeBytes / MIB)} MiB`;
  return disk.state === "full"
    ? [`the disk that holds the data is full (${left} left): new jobs are refused until space is freed`]
    : [`the disk that holds the data has only ${left} left`];
};

const healthy = (home: Home | undefined) => {
  const warnings = warningsOf(home);
  return { status: "ok", version: VERSION, ...(warnings.length === 0 ? {} : { warnings }) };
};

const health = endpoint(
  {
    ...BASE,
    path: "/health",
    lane: "vital",
    summary: "Check that the service answers",
    description: "Asks no database. `warnings`, if present, lists what an operator should look at.",
    answers: {
      200: { description: "The service answers and is ready.", schema: healthOf("ok") },
      503: {
        description:
          "Self-hosted only: a process of the server is being restarted, or (for ten seconds at most) its local worker has not connected yet.",
        schema: healthOf("starting"),
        headers: { "Retry-After": "seconds" },
      },
    },
  },
  (c) => {
    const { HOME: home } = c.env;
    const isReady = !isStarting(c.env) && home?.isWhole() !== false;
    return isReady ? answer(c, healthy(home)) : answer(c, STARTING, 503, { "retry-after": RETRY_AFTER_SECONDS });
  },
);

const openApi = (document: () => OpenApiDocument): Endpoint => {
  let rendered: Uint8Array<ArrayBuffer> | null = null;
  const media = "application/json";
  return endpoint(
    {
      ...BASE,
      path: "/openapi.json",
      summary: "Read the OpenAPI document (3.1)",
      answers: { 200: { description: "The OpenAPI document.", schema: z.looseObject({}), media: [media] } },
    },
    (c) => {
      rendered ??= new TextEncoder().encode(JSON.stringify(document())) as Uint8Array<ArrayBuffer>;
      return c.body(rendered, 200, { "content-type": `${media}; charset=utf-8` });
    },
  );
};

const PAGE = { description: "An HTML page without scripts.", schema: z.string(), media: ["text/html"] };
const docsQuery = z.strictObject({
  q: z.string().max(MAX_QUERY_CHARS).default("").meta({ description: "words that all must occur" }),
});

/** The pages are made when the first is asked for. */
const docs = (document: () => OpenApiDocument): Endpoint[] => {
  let made: DocsPages | null = null;
  const pages = (): DocsPages => {
    made ??= docsPages(document(), VERSION);
    return made;
  };
  const show = (c: AppContext, html: string) => c.body(html, 200, { "content-type": "text/html; charset=utf-8" });
  return [
    endpoint(
      {
        ...BASE,
        path: "/docs",
        summary: "Read the index of the API reference, or search it",
        query: docsQuery,
        answers: { 200: PAGE },
      },
      (c, { query }) => show(c, pages().index(query.q.trim())),
    ),
    endpoint(
      {
        ...BASE,
        path: "/docs/{page}",
        operationId: "getDocsPage",
        summary: "Read a page of the API reference",
        description: "The endpoints of one tag with the schemas that they name; the index lists the pages.",
        params: z.object({ page: identifier(/^[a-z-]+$/, 40, "lower-case letters and -") }),
        refuses: ["not_found"],
        answers: { 200: PAGE },
      },
      (c, { params }) => {
        const html = pages().page(params.page);
        if (html === null) throw new Refused(notFound("route", `/docs/${params.page}`));
        return show(c, html);
      },
    ),
  ];
};

/** The service's own endpoints; the OpenAPI document describes `others` and these. */
export const serviceRoutes = (others: readonly Endpoint[]): Endpoint[] => {
  const routes: Endpoint[] = [];
  const document = (): OpenApiDocument => openApiDocument([...others, ...routes], VERSION);
  routes.push(health, metrics, openApi(document), ...docs(document));
  return routes;
};
