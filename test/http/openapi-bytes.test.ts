// The OpenAPI document has 780 KB, and anybody may ask for it: what is made once must not be encoded for each answer.

import { Hono } from "hono";
import { expect, it, vi } from "vitest";
import type { AppContext } from "../../src/http/auth.ts";
import { serviceRoutes } from "../../src/routes/service.ts";

it("every answer sends the same bytes of the OpenAPI document", async () => {
  const route = serviceRoutes([]).find(({ description }) => description.path === "/openapi.json");
  const sent: unknown[] = [];
  const app = new Hono().get("/openapi.json", async (c) => {
    const body = vi.spyOn(c, "body");
    const answer = await route?.handle(c as unknown as AppContext);
    sent.push(body.mock.calls[0]?.[0]);
    return answer ?? c.notFound();
  });
  const [first, second] = [await app.request("/openapi.json", {}, {}), await app.request("/openapi.json", {}, {})];
  expect(await first.json()).toMatchObject({ openapi: "3.1.0", paths: { "/health": {} } });
  expect(second.headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(sent[0]).toBeInstanceOf(Uint8Array);
  expect(sent[1]).toBe(sent[0]);
});
