// Which handlers a path finds, compared with Hono's own router.

import fc from "fast-check";
import { TrieRouter } from "hono/router/trie-router";
import { describe, expect, it } from "vitest";
import { app } from "../../src/app.ts";
import { PathRouter } from "../../src/http/path-router.ts";

/** Each handler with the values of its names. */
const found = (router: TrieRouter<string> | PathRouter<string>, method: string, path: string) => {
  const [handlers, values] = router.match(method, path);
  return handlers.map(([handler, places]) => [
    handler,
    Object.fromEntries(
      Object.entries(places).map(([name, value]) => [name, typeof value === "number" ? values?.[value] : value]),
    ),
  ]);
};

/** Up to the first that answers, since nothing comes after it. */
const upToAnswer = (handlers: ReturnType<typeof found>) => {
  const last = handlers.findIndex(([handler]) => !String(handler).endsWith("*"));
  return last < 0 ? handlers : handlers.slice(0, last + 1);
};

const routes = app.routes.map(({ method, path }, index) => ({ method, path, handler: `${index} ${method} ${path}` }));
const ours = new PathRouter<string>();
const honos = new TrieRouter<string>();
for (const { method, path, handler } of routes) {
  ours.add(method, path, handler);
  honos.add(method, path, handler);
}
/** Hono takes a segment that is a `*`, or spelt as a route's own `:name`, for the literal too, and finds a handler twice. */
const isSpeltAsRoute = (text: string) => /^[:*]/.test(text);
const words = [...new Set(routes.flatMap(({ path }) => path.split("/")).filter((word) => !isSpeltAsRoute(word)))];
const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"];
const segment = fc
  .oneof(
    fc.constantFrom(...words),
    fc.string({ maxLength: 4 }).map((text) => text.replaceAll("/", "")),
  )
  .filter((text) => !isSpeltAsRoute(text));
const anyPath = fc.array(segment, { maxLength: 6 }).map((segments) => `/${segments.join("/")}`);
/** A path of the API with other segments in place of its names, or of anything else. */
const nearPath = fc
  .tuple(fc.constantFrom(...routes.map(({ path }) => path)), fc.array(segment, { minLength: 8, maxLength: 8 }))
  .map(([path, others]) =>
    path
      .split("/")
      .map((part, at) => (isSpeltAsRoute(part) ? (others[at] ?? "") : part))
      .join("/"),
  )
  .map((path) => (path.startsWith("/") ? path : `/${path}`));

describe("the handlers of the API's paths", () => {
  it("are those that Hono's own router finds, up to the one that answers, with the same values of names", () => {
    fc.assert(
      fc.property(fc.constantFrom(...methods), fc.oneof(anyPath, nearPath), (method, path) => {
        expect(found(ours, method, path)).toEqual(upToAnswer(found(honos, method, path)));
      }),
      { numRuns: 3_000 },
    );
  });

  it("are found once by a path that is spelt as a route", () => {
    expect(found(ours, "GET", "/v1/*")).toEqual([["1 ALL /v1/*", {}]]);
  });

  it("hold for a literal beside a name: the first that was added answers", () => {
    const router = new PathRouter<string>();
    router.add("ALL", "*", "every request");
    router.add("GET", "/jobs/:id", "one");
    router.add("POST", "/jobs/batch", "batch");
    router.add("ALL", "/jobs/batch", "405");
    expect(found(router, "GET", "/jobs/batch")).toEqual([
      ["every request", {}],
      ["one", { id: "batch" }],
    ]);
    expect(found(router, "PUT", "/jobs/batch")).toEqual([
      ["every request", {}],
      ["405", {}],
    ]);
    expect(found(router, "POST", "/jobs/7")).toEqual([["every request", {}]]);
  });
});
