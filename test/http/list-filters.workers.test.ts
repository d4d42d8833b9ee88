// Every documented filter narrows its list: a new filter that is ignored fails here.

import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { type Body, connectWorker, newWorld, type World } from "../support/workerd/client.ts";
import { readDocument } from "../support/workerd/document.ts";

/** Parameters that choose part of a list, its order, how much of each item, extra data, and where it is read. */
const OF_THE_PAGE = new Set([
  "limit",
  "offset",
  "cursor",
  "count_only",
  "sort",
  "by",
  "summary",
  "max_chars",
  "preview",
  "runs",
  "archived",
]);
const NEVER = {
  since: "2999-01-01T00:00:00Z",
  until: "2000-01-01T00:00:00Z",
  unpriced_since: "2999-01-01T00:00:00Z",
  unpriced_until: "2000-01-01T00:00:00Z",
};

interface Filter {
  readonly path: string;
  readonly name: string;
  readonly values: readonly string[];
}

/** Some lists take a day where others take an instant. */
const valuesOf = ({ name, schema }: Body): string[] => {
  const never = NEVER[name as keyof typeof NEVER] ?? "nothing-is-called-so";
  return schema.enum ?? [schema.format === "date" ? never.slice(0, "2999-01-01".length) : never];
};

const isList = (operation: Body, root: Body): boolean => {
  const schema = operation?.responses?.["200"]?.content?.["application/json"]?.schema;
  const named =
    schema?.$ref === undefined ? schema : root.components.schemas[String(schema.$ref).split("/").at(-1) ?? ""];
  return named?.properties?.total?.type === "integer";
};

const filtersOf = (root: Body): Filter[] =>
  Object.entries<Body>(root.paths)
    .filter(([path, { get }]) => path.startsWith("/api/") && !path.includes("{") && isList(get, root))
    .flatMap(([path, { get }]) =>
      ((get.parameters ?? []) as Body[])
        .filter((one) => one.in === "query" && !OF_THE_PAGE.has(one.name))
        .map((one) => ({ path, name: one.name as string, values: valuesOf(one) })),
    );

describe("a list", () => {
  let world: World;
  let filters: Filter[] = [];

  beforeAll(async () => {
    world = await newWorld();
    await connectWorker(world.key ?? "", { instance: "w", provider: "p", status: "idle", tags: "gpu", can: ["pull"] });
    await connectWorker(world.key ?? "", { instance: "plain", provider: "p", status: "idle", tags: "" });
    await world.ok("POST", "/api/workers/w/models", { action: "pull", model: "qwen3" });
    await world.ok("POST", "/api/jobs", { prompt: "waits", provider: "q", tags: ["gpu"] });
    await world.ok("POST", "/api/files", { any: "bytes" });
    await world.ok("POST", "/api/schedules", { name: "nightly", cron: "0 3 * * *", prompt: "sweep" });
    await env.DB.prepare(
      `INSERT INTO archive_parts (tenant, day, name, min_id, max_id, jobs, bytes, sha256)
       VALUES (?1, '2026-01-31', 'part', 'a', 'b', 1, 1, '')`,
    )
      .bind(world.tenant)
      .run();
    filters = filtersOf(await readDocument());
  });

  const totalOf = async (path: string): Promise<number> => (await world.ok("GET", path)).total as number;

  it("has no filter that changes nothing", async () => {
    const named = filters.map(({ path, name }) => `${path}?${name}`);
    expect(named).toEqual(expect.arrayContaining(["/api/jobs?status", "/api/jobs?q", "/api/workers?state"]));
    const idle: string[] = [];
    for (const { path, name, values } of filters) {
      const all = await totalOf(path);
      expect(all, path).toBeGreaterThan(0);
      const totals = await Promise.all(values.map((value) => totalOf(`${path}?${name}=${encodeURIComponent(value)}`)));
      if (totals.every((total) => total === all)) idle.push(`${path}?${name}`);
    }
    expect(idle).toEqual([]);
  });

  it("asks for no more metadata than a job may have: a database takes a hundred values", async () => {
    const pairs = (count: number) =>
      new URLSearchParams(Array.from({ length: count }, (_, index) => [`metadata.n${index}`, "v"]));
    expect(await totalOf(`/api/jobs?sort=cost_usd&unpriced=true&${pairs(16)}`)).toBe(0);
    const { status, body } = await world.get(`/api/jobs?${pairs(17)}`);
    expect([status, body.errors[0]]).toEqual([400, { path: "metadata", message: "must have at most 16 pairs" }]);
  });
});
