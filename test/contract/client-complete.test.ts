// Every endpoint that the service describes can be called through the typed client.

import { describe, expect, it } from "vitest";
import { createClient } from "../../contract/client.ts";
import { endpoints } from "../../src/app.ts";
import { EndpointNotes, shapeOf } from "./called-endpoints.ts";

/** Not plain calls: sockets, and what has clients of its own. */
const ELSEWHERE = [/^GET \/live$/, /^GET \/api\/workers\/\{\}\/(connect|stream)$/, / \/v1\//, / \/mcp$/];

describe("the typed client", () => {
  it("has a verb for every endpoint of the OpenAPI document", async () => {
    const notes = new EndpointNotes();
    await notes.callAll(createClient({ url: "http://box", fetch: notes.fetch, retries: 0 }));
    const described = endpoints
      .map(({ description: { method, path } }) => shapeOf(method, path))
      .filter((shape) => !ELSEWHERE.some((pattern) => pattern.test(shape)));
    expect(described.length).toBeGreaterThan(40);
    expect(described.filter((shape) => !notes.shapes.has(shape))).toEqual([]);
  });
});
