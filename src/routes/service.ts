// The service about itself: health, metrics, the OpenAPI document and its page. The page is made here from the same
// descriptions, with no script and nothing from elsewhere.

import * as z from "zod";
import { WIRE } from "../../contract/refusal.ts";
import { VERSION } from "../../contract/version.ts";
import { answer } from "../http/answer.ts";
import { asks } from "../http/asks.ts";
import type { Home } from "../http/home.ts";
import { describeNeeds, openApiDocument } from "../http/openapi.ts";
import { isStarting } from "../http/readiness.ts";
import { unwrap } from "../http/refused.ts";
import { type Description, type Endpoint, endpoint } from "../http/router.ts";
import { callTenant } from "../http/tenant.ts";

const BASE = { method: "get", tag: "Service", needs: "none" } as const;
const STARTING = { status: "starting", version: VERSION };
const RETRY_AFTER_SECONDS = "1";
const healthOf = <Status extends string>(status: Status) =>
  z.object({ status: z.literal(status), version: z.string(), warnings: z.array(z.string()).optional() });

const MIB = 1024 * 1024;

const warningsOf = (home: Home | undefined): string[] => {
  const disk = home?.disk();
  if (disk === undefined || disk.state === "ok") return [];
  const left = `${Math.floor(disk.freeBytes / MIB)} MiB`;
  return disk.state === "full"
    ? [`the disk that holds the data is full (${left} left): new jobs are refused until there is room`]
    : [`the disk that holds the data has ${left} left`];
};

const healthy = (home: Home | undefined) => {
  const warnings = warningsOf(home);
  return { status: "ok", version: VERSION, ...(warnings.length === 0 ? {} : { warnings }) };
};

const diskMetrics = (home: Home | undefined): string => {
  const disk = home?.disk();
  if (disk === undefined) return "";
  return [
    "# HELP signalbox_disk_free_bytes Free space on the disk that holds the data.",
    "# TYPE signalbox_disk_free_bytes gauge",
    `signalbox_disk_free_bytes ${disk.freeBytes}`,
    "# HELP signalbox_disk_full Whether new jobs are refused for want of space.",
    "# TYPE signalbox_disk_full gauge",
    `signalbox_disk_full ${disk.state === "full" ? 1 : 0}`,
    "",
  ].join("\n");
};

const health = endpoint(
  {
    ...BASE,
    path: "/health",
    lane: "vital",
    summary: "Whether the service answers",
    description: "Touches no database. `warnings`, where there are any, say what an operator must look at.",
    answers: {
      200: { description: "It does.", schema: healthOf("ok") },
      503: {
        description:
          "Self-hosted: a process of the server is being started again; or, for ten seconds at most, the worker beside it is not there yet.",
        schema: healthOf("starting"),
      },
    },
  },
  (c) => {
    const { HOME: home } = c.env;
    const isReady = !isStarting(c.env) && home?.isWhole() !== false;
    return isReady ? answer(c, healthy(home)) : answer(c, STARTING, 503, { "retry-after": RETRY_AFTER_SECONDS });
  },
);

const metrics = endpoint(
  {
    ...BASE,
    path: "/metrics",
    ...asks("readMetrics"),
    summary: "Prometheus metrics of the tenant",
    answers: { 200: { description: "Exposition format 0.0.4.", schema: z.string(), media: ["text/plain"] } },
  },
  async (c, { token }) => {
    const text = unwrap(await callTenant(c.env, token, "readMetrics", null));
    return c.body(text + diskMetrics(c.env.HOME), 200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" });
  },
);

const documentation = (path: string, media: string, summary: string, render: () => string): Endpoint => {
  const schema = media === "application/json" ? z.looseObject({}) : z.string();
  let rendered: string | null = null;
  return endpoint({ ...BASE, path, summary, answers: { 200: { description: "It.", schema, media: [media] } } }, (c) => {
    rendered ??= render();
    return c.body(rendered, 200, { "content-type": `${media}; charset=utf-8` });
  });
};

/** The service's own endpoints; the documents describe all that are given and themselves. */
export const serviceRoutes = (others: readonly Endpoint[]): Endpoint[] => {
  const routes: Endpoint[] = [];
  const openapi = documentation("/openapi.json", "application/json", "The OpenAPI document (3.1)", () =>
    JSON.stringify(openApiDocument([...others, ...routes], VERSION)),
  );
  const docs = documentation("/docs", "text/html", "The API as a page", () =>
    docsPage([...others, ...routes].map(({ description }) => description)),
  );
  routes.push(health, metrics, openapi, docs);
  return routes;
};

const escapeHtml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

const prose = (text: string): string => escapeHtml(text).replaceAll(/`([^`]+)`/g, "<code>$1</code>");

/** A schema with a name of its own comes as a reference to it. */
const namedSchema = (schema: z.core.JSONSchema.BaseSchema): z.core.JSONSchema.BaseSchema =>
  schema.$defs?.[schema.$ref?.split("/").at(-1) ?? ""] ?? schema;

const fieldsOf = (schema: z.ZodType | undefined): string => {
  if (schema === undefined) return "";
  const { properties, required } = namedSchema(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }));
  const names = Object.keys(properties ?? {});
  if (names.length === 0) return "";
  return names
    .map((name) => `<code>${escapeHtml(name)}</code>${required?.includes(name) === true ? "" : "?"}`)
    .join(", ");
};

const endpointHtml = (description: Description): string => {
  const { method, path, summary, needs, answers, refuses } = description;
  const rows = [
    ["Query", fieldsOf(description.query)],
    ["Body", fieldsOf(description.body ?? description.rawBody?.schema)],
    [
      "Answers",
      Object.entries(answers)
        .map(([status, answer]) => `<b>${status}</b> ${prose(answer.description)} ${fieldsOf(answer.schema)}`)
        .join("<br>"),
    ],
    [
      "Refuses",
      (refuses ?? []).map((code) => `<a href="#problem-${code}">${WIRE[code].status} ${code}</a>`).join(", "),
    ],
  ].filter(([, text]) => text !== "");
  return `<article id="${method}-${escapeHtml(path)}"><h3><code>${method.toUpperCase()} ${escapeHtml(path)}</code></h3>
<p>${prose(summary)}. ${prose(description.description ?? "")} ${describeNeeds(needs)}</p>
<dl>${rows.map(([term, text]) => `<dt>${term}</dt><dd>${text}</dd>`).join("")}</dl></article>`;
};

const docsPage = (descriptions: readonly Description[]): string => {
  const byTag = Map.groupBy(descriptions, ({ tag }) => tag);
  const problems = Object.entries(WIRE).map(
    ([code, { status, title }]) => `<dt id="problem-${code}"><code>${code}</code></dt><dd>${status} ${title}</dd>`,
  );
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Signalbox API</title><link rel="stylesheet" href="/docs.css"></head><body><main><h1>Signalbox API</h1>
<p>Version ${VERSION}. Bodies are JSON; every error is a problem document (RFC 9457). The machine-readable twin of this page is
<a href="/openapi.json">openapi.json</a>. Send <code>Authorization: Bearer &lt;key&gt;</code>.</p>
<nav>${[...byTag.keys()].map((tag) => `<a href="#${tag.replaceAll(" ", "-")}">${tag}</a>`).join(" · ")} · <a href="#problems">Problems</a></nav>
${[...byTag].map(([tag, list]) => `<section id="${tag.replaceAll(" ", "-")}"><h2>${tag}</h2>${list.map(endpointHtml).join("\n")}</section>`).join("\n")}
<section id="problems"><h2>Problems</h2><dl>${problems.join("")}</dl></section></main></body></html>`;
};
