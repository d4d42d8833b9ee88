// Every endpoint has a name for generated clients and a section for readers.

import { describe, expect, it } from "vitest";
import { operationIdOf } from "../../src/endpoint/openapi.ts";

describe("the name of an endpoint that gives none", () => {
  it.each([
    ["get", "/api/jobs/{id}/events", "listJobEvents"],
    ["get", "/catalog/subscriptions/{id}/history", "getCatalogSubscriptionHistory"],
    ["delete", "/catalog/subscriptions/{id}", "deleteCatalogSubscription"],
    ["get", "/openapi.json", "getOpenapiJson"],
  ] as const)("%s %s is %s", (method, path, name) => {
    expect(operationIdOf(method, path)).toBe(name);
  });
});
