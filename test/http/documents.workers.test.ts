// The OpenAPI document and the page made from it: they need no key, and name all that an answer may have.

import { exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { WIRE } from "../../contract/refusal.ts";
import { type Body, ORIGIN, request } from "../support/workerd/client.ts";
import { readDocument } from "../support/workerd/document.ts";

describe("the documents", () => {
  it("need no key, and the OpenAPI one describes every path with its methods", async () => {
    for (const path of ["/openapi.json", "/docs", "/docs?q=cancel", "/docs/jobs", "/health"]) {
      const { status, text } = await request(null, "GET", path);
      expect([path, status]).toEqual([path, 200]);
      const head = await request(null, "HEAD", path);
      expect([path, head.status, head.text]).toEqual([path, 200, ""]);
      expect(text).not.toMatch(/src="https?:|href="https?:/);
    }
    const document = await readDocument();
    expect(document.openapi).toMatch(/^3\.1\./);
    const named = Object.values(
      document.paths as Record<string, Record<string, { operationId: string; tags: string[] }>>,
    )
      .flatMap((item) => Object.values(item))
      .map(({ operationId, tags }) => ({ operationId, isTagged: tags.length === 1 }));
    expect(named.filter(({ operationId, isTagged }) => !/^[a-z]\w+$/.test(operationId) || !isTagged)).toEqual([]);
    expect(new Set(named.map(({ operationId }) => operationId)).size).toBe(named.length);
    expect(document.info.title).toBeTruthy();
    for (const [path, item] of Object.entries(document.paths) as [string, Record<string, Body>][]) {
      for (const [method, operation] of Object.entries(item)) {
        const named = (operation.parameters ?? [])
          .filter((one: Body) => one.in === "path")
          .map((one: Body) => one.name);
        const wanted = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
        expect([path, method, named]).toEqual([path, method, wanted]);
        expect(Object.keys(operation.responses).length).toBeGreaterThan(1);
      }
    }
    expect(Object.keys(document.paths)).toEqual(
      expect.arrayContaining(["/api/jobs", "/dispatch", "/presence", "/killswitch", "/api/schedules", "/openapi.json"]),
    );
    const limit = document.paths["/api/jobs"].get.parameters.find((one: Body) => one.name === "limit");
    expect(limit).toMatchObject({
      in: "query",
      required: false,
      schema: { type: "integer", minimum: 1, maximum: 200, default: 50 },
    });
  });

  it("name the subjects, and the fields of every form, so that a client made from them can send a file", async () => {
    const { tags, paths, components, info } = await readDocument();
    const operations = (Object.values(paths) as Record<string, Body>[]).flatMap((item) => Object.values(item));
    const told = new Set(tags.map(({ name }: Body) => name));
    expect(operations.filter((one) => !told.has(one.tags[0]))).toEqual([]);
    expect(info.license).toEqual({ name: "MIT", identifier: "MIT" });
    const forms = operations.flatMap(({ operationId, requestBody }) => {
      const schema = requestBody?.content["multipart/form-data"]?.schema;
      if (schema === undefined) return [];
      const whole = schema.$ref === undefined ? schema : components.schemas[schema.$ref.split("/").at(-1)];
      return [[operationId, Object.keys(whole.properties)]];
    });
    expect(Object.fromEntries(forms)).toMatchObject({
      createFile: ["file"],
      createOpenAiFile: ["purpose", "expires_after[anchor]", "expires_after[seconds]", "file"],
      addUploadPart: ["data"],
    });
    expect(paths["/api/files"].post.requestBody.content["application/octet-stream"].schema).toEqual({
      type: "string",
      format: "binary",
    });
  });

  it("describe every field that they say is always there", async () => {
    const undescribed: string[] = [];
    const look = (at: string, schema: unknown): void => {
      if (typeof schema !== "object" || schema === null) return;
      const { required, properties = {} } = schema as Body;
      if (Array.isArray(required))
        undescribed.push(...required.filter((name) => !(name in properties)).map((name) => `${at}.${name}`));
      for (const [name, one] of Object.entries(schema)) look(`${at}/${name}`, one);
    };
    look("", (await readDocument()).components.schemas);
    expect(undescribed).toEqual([]);
  });

  it("name every code of an error: at its operations, or in the OpenAPI document's own words", async () => {
    const { paths, info } = await readDocument();
    const ofOperations = JSON.stringify(paths);
    const elsewhere = Object.keys(WIRE).filter(
      (code) => !ofOperations.includes(`"${code}"`) && !ofOperations.includes(`\`${code}\``),
    );
    expect(elsewhere.filter((code) => !info.description.includes(`\`${code}\``))).toEqual([]);
  });

  it("say which headers an answer has, and every status that a tenant's key or a worker can bring about", async () => {
    const { paths } = await readDocument();
    const headersOf = (method: string, path: string, status: number): string[] =>
      Object.keys(paths[path][method].responses[status].headers ?? {});
    for (const path of ["/api/jobs", "/api/jobs/batch", "/dispatch", "/api/schedules/{name}/run", "/api/jobs/bulk"]) {
      const created = Object.keys(paths[path].post.responses).filter((status) => Number(status) < 300);
      for (const status of created)
        expect([path, headersOf("post", path, Number(status))]).toEqual([path, ["Idempotency-Replayed"]]);
      for (const status of [429, 503]) expect(headersOf("post", path, status)).toEqual(["Retry-After"]);
      expect(headersOf("post", path, 422)).toEqual([]);
    }
    for (const [method, status] of [
      ["get", 200],
      ["get", 304],
      ["put", 200],
    ] as const)
      expect([method, status, headersOf(method, "/config", status)]).toEqual([method, status, ["ETag"]]);
    for (const [path, item] of Object.entries(paths) as [string, Record<string, Body>][])
      for (const [method, { description, responses }] of Object.entries(item))
        if (description.includes("Needs a key with role"))
          expect([method, path, responses[410]?.description]).toEqual([method, path, expect.any(String)]);
    for (const api of ["chat/completions", "completions", "embeddings", "responses", "messages"])
      expect(Object.keys(paths[`/v1/${api}`].post.responses)).toEqual(
        expect.arrayContaining(["4XX", "500", "502", "504"]),
      );
  });

  it("explain every problem that an answer may name, a bug included", async () => {
    const { text } = await request(null, "GET", "/docs");
    for (const [code, status] of [
      ...Object.entries(WIRE).map(([one, { status }]) => [one, status] as const),
      ["internal", 500] as const,
    ])
      expect(text).toContain(`<dt id="problem-${code}"><code>${code}</code></dt><dd>${status} `);
  });

  it("are an index with a search, and a page for each tag", async () => {
    const index = await request(null, "GET", "/docs?q=");
    expect(index.text).toContain('href="/docs/jobs#');
    expect((await request(null, "GET", "/docs?q=cancel+job")).text).toContain('href="/docs/jobs#cancelJob"');
    expect((await request(null, "GET", "/docs/jobs")).text).toContain('<article id="cancelJob">');
    expect(await request(null, "GET", "/docs/none")).toMatchObject({ status: 404, body: { code: "not_found" } });
    expect((await request(null, "GET", `/docs?q=${"x".repeat(101)}`)).status).toBe(400);
  });

  it("are pages a browser may show, and answers it may not misuse", async () => {
    const response = await exports.default.fetch(`${ORIGIN}/docs`);
    expect(response.headers.get("content-type")).toContain("text/html");
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    const data = await exports.default.fetch(`${ORIGIN}/api/jobs`);
    expect(data.headers.get("content-security-policy")).toBe("default-src 'none'; frame-ancestors 'none'");
    expect(data.headers.get("x-content-type-options")).toBe("nosniff");
    expect(data.headers.get("cross-origin-resource-policy")).toBe("same-origin");
    expect(data.headers.get("cache-control")).toBe("no-store");
  });
});
