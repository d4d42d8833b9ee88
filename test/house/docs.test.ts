// The API's documents: fields that are always present are required, a request and an answer that differ are two
// schemas, and the page shows each field, including the sockets' messages.

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { WIRE } from "../../contract/refusal.ts";
import { endpoints } from "../../src/app.ts";
import { openApiDocument } from "../../src/endpoint/openapi.ts";
import { docsPages } from "../../src/routes/docs/docs-page.ts";

const document = openApiDocument(endpoints, "0");
const { schemas } = document.components;
const pages = docsPages(document, "0");
const htmlOf = (name: string): string => pages.page(name) ?? "";
const all: ReadonlyMap<string, string> = new Map([
  ["/docs", pages.index("")],
  ...pages.names.map((name) => [`/docs/${name}`, htmlOf(name)] as const),
]);
const page = [...all.values()].join("");
/** More is no page that somebody reads. */
const MAX_PAGE_CHARS = 150_000;

it("a result or its file is required to complete a job, and an answer's job always has input and result", () => {
  const { required, properties } = schemas.Complete ?? {};
  expect(required).toEqual(["lease"]);
  expect(properties?.result?.description).toBe("required, unless `result_file` is given");
  expect(schemas.Job?.required).toEqual(expect.arrayContaining(["input", "result", "progress"]));
});

it("the config that is sent may leave everything out, the config that is answered leaves nothing out", () => {
  expect(schemas.Config?.required).toBeUndefined();
  expect(schemas.ConfigAnswer?.required).toEqual(expect.arrayContaining(["jobs", "presence", "providers", "budget"]));
  const { get, put } = document.paths["/config"] ?? {};
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  expect(put?.requestBody?.content["application/json"]?.schema).toEqual(ref("Config"));
  expect(get?.responses[200]?.content?.["application/json"]?.schema).toEqual(ref("ConfigAnswer"));
});

it("says what each strategy does, in the order in which they are named", () => {
  const { strategy } = schemas.Config?.properties?.routing?.properties ?? {};
  expect(strategy?.description?.split("; ")).toHaveLength(strategy?.enum?.length ?? 0);
});

it("every reference leads to a schema of the document", () => {
  const names = [...JSON.stringify(document).matchAll(/#\/components\/schemas\/([^"]+)/g)].map(([, name]) => name);
  expect(names.filter((name) => schemas[name ?? ""] === undefined)).toEqual([]);
  expect(JSON.stringify(document)).not.toContain("$defs");
});

it("every operation with a name in its path can answer 404, as where the name is empty", () => {
  const named = Object.entries(document.paths).filter(([path]) => path.includes("{"));
  const without = named.flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { responses }]) =>
      responses[404] === undefined && responses["4XX"] === undefined ? [`${method} ${path}`] : [],
    ),
  );
  expect(named.length).toBeGreaterThan(50);
  expect(without).toEqual([]);
});

it("every problem that an endpoint can answer names the codes that it can have, each with its status", () => {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => ({ name: `${method} ${path}`, one })),
  );
  for (const { name, one } of operations) {
    for (const [status, { content = {} }] of Object.entries(one.responses)) {
      const problem = content["application/problem+json"]?.schema;
      if (problem === undefined) continue;
      // MCP's own errors, beside problems, have JSON-RPC's form.
      if (name.endsWith("/mcp") && problem.allOf === undefined) continue;
      const codes = problem.allOf?.flatMap(({ properties }) => properties?.code?.enum ?? []) as (keyof typeof WIRE)[];
      expect([name, status, codes.length]).not.toEqual([name, status, 0]);
      expect([name, status, codes.filter((code) => WIRE[code].status !== Number(status))]).toEqual([name, status, []]);
    }
  }
  const codesOf = (path: string, method: string, status: number) =>
    document.paths[path]?.[method]?.responses[status]?.content?.["application/problem+json"]?.schema.allOf?.[1]
      ?.properties?.code?.enum;
  expect(codesOf("/api/jobs", "get", 401)).toEqual([
    "authentication_failed",
    "key_revoked",
    "key_rotated",
    "key_suspended",
  ]);
  expect(codesOf("/api/jobs", "post", 429)).toContain("rate_limited");
  expect(codesOf("/dispatch", "post", 503)).toEqual(
    expect.arrayContaining(["no_eligible_workers", "killswitch_active", "budget_reached"]),
  );
  expect(codesOf("/admin/tenants/{tenant}/arrived", "post", 404)).toEqual(["not_found"]);
});

it("the job list says which way each sort goes", () => {
  const sort = document.paths["/api/jobs"]?.get?.parameters.find(({ name }) => name === "sort");
  expect(sort?.description).toMatch(/^newest.*with `-` before the name: oldest/);
});

it("no answer is described by a pronoun", () => {
  const said = endpoints.flatMap(({ description }) => Object.values(description.answers).map((one) => one.description));
  expect(said.filter((words) => /^(Them|It|They|Its)\b/.test(words))).toEqual([]);
});

it("the page shows types, limits, defaults, headers, a job's input and the messages of both sockets", () => {
  for (const shown of ["integer", "at most <code>25</code>", "default <code>", "in the header", "Idempotency-Key"])
    expect(page).toContain(shown);
  for (const name of ["schema-JobInput", "temperature", "job.assigned", "job.completed", "snapshot", "fleet.updated"])
    expect(page).toContain(name);
  expect(page).not.toMatch(/<script|https?:\/\/(?!example\.com)/);
});

it("a request at the front door has all headers that are read of it", () => {
  const sources = ["front-door/request/request.ts", "http/header-value.ts"].map((file) =>
    readFileSync(`src/${file}`, "utf8"),
  );
  const read = new Set(sources.join("").match(/(?<="x-signalbox)-[a-z]+/g));
  expect(read.size).toBeGreaterThan(8);
  const says = (document.paths["/v1/chat/completions"]?.post?.description ?? "").toLowerCase();
  expect([...read].filter((name) => !says.includes(`${name}\``))).toEqual([]);
});

it("the page shows how streams are written, and how nobody's change of the config is overwritten", () => {
  for (const shown of ["U+001E", "&lt;job id&gt; &lt;lease&gt; end", "reader.gone", "header-ETag", "header-If-Match"])
    expect(page).toContain(shown);
  const headers = document.paths["/config"]?.put?.parameters.filter((one) => one.in === "header");
  expect(headers?.map(({ name }) => name)).toContain("if-match");
});

it("the package that the service serves is an endpoint of the document", () => {
  expect(document.paths["/signalbox.tgz"]?.get?.responses[200]?.content).toHaveProperty(["application/gzip"]);
});

it("no two operations share a name", () => {
  const names = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map((one) => one.operationId),
  );
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

it("a query's default is said", () => {
  const limit = document.paths["/api/jobs"]?.get?.parameters.find(({ name }) => name === "limit");
  expect(limit?.schema).toMatchObject({ type: "integer", minimum: 1, maximum: 200, default: 50 });
});

it("every link of the pages leads to a page, and to a place that it has", () => {
  for (const [here, html] of all) {
    for (const [, to = "", anchor] of html.matchAll(/href="(\/docs(?:\/[a-z-]+)?)?(?:#([^"]+))?"/g)) {
      const there = all.get(to === "" ? here : to);
      expect([here, to, there !== undefined]).toEqual([here, to, true]);
      if (anchor !== undefined)
        expect([here, to, anchor, there?.includes(`id="${anchor}"`)]).toEqual([here, to, anchor, true]);
    }
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect([here, ids.filter((id, index) => ids.indexOf(id) !== index)]).toEqual([here, []]);
  }
});

it("each operation is on the page of its tag and in the index, which also has each problem's anchor", () => {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const one of Object.values(methods)) {
      const name = one.tags[0]?.toLowerCase().replaceAll(" ", "-");
      expect([path, htmlOf(name ?? "").includes(`<article id="${one.operationId}">`)]).toEqual([path, true]);
      expect([path, pages.index("").includes(`id="${one.operationId}"`)]).toEqual([path, true]);
    }
  }
  for (const code of Object.keys(WIRE)) expect(pages.index("")).toContain(`id="problem-${code}"`);
});

it("no page is longer than a reader's patience", () => {
  expect(
    [...all].filter(([, html]) => html.length > MAX_PAGE_CHARS).map(([name, html]) => [name, html.length]),
  ).toEqual([]);
});

it.each([
  ["cancel job", "/docs/jobs#cancelJob"],
  ["IDEMPOTENCY_key_reused", "/docs#problem-idempotency_key_reused"],
  ["JobInput", "/docs/schemas#schema-JobInput"],
  ["runtime_models", "/docs/workers#schema-Presence"],
  ["reader.gone", "/docs/data-line"],
])("a search for %j finds %s", (query, href) => {
  expect(pages.index(query)).toContain(href);
});

it("a search shows at most fifty hits, says how many there are, and finds nothing without harm", () => {
  const many = pages.index("e");
  expect(many.match(/<li>/g)).toHaveLength(50);
  expect(many).toMatch(/<p>\d{3,} found for <q>e<\/q>, the first 50 shown/);
  const none = pages.index('"><script>alert(1)</script>');
  expect(none).toContain("Nothing found");
  expect(none).not.toContain("<script");
});
