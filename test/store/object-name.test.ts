import { expect, it } from "vitest";
import { tenantOf } from "../../durable-objects/object-name.ts";

it("an object that the platform gives no name serves nobody, instead of writing history under an empty tenant", () => {
  expect(tenantOf({ name: "acme" })).toBe("acme");
  for (const name of [undefined, ""]) expect(() => tenantOf({ name } as { name: string })).toThrow("no name");
});
