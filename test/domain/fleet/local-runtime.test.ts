import { describe, expect, test } from "vitest";
import { configDocument } from "../../../contract/config/config.ts";
import {
  isLocalProvider,
  LOCAL_RUNTIME_NAMES,
  LOCAL_RUNTIMES,
  localRuntimeOf,
} from "../../../domain/fleet/local-runtime.ts";
import { mayCost } from "../../../domain/money/cost.ts";
import { bundledProviders } from "../../../providers/bundled-providers.ts";
import { readConfig } from "../../../worker/config.ts";
import { RUNTIME_NAMES } from "../../../worker/runtimes/providers.ts";

/** These have no model list to follow. */
const NOT_IN_CATALOG = ["echo", "openai-compatible"];

describe("every local runtime", () => {
  test.each(LOCAL_RUNTIME_NAMES)("%s costs nothing, and its model is read from its section of the config", (name) => {
    expect(isLocalProvider(name)).toBe(true);
    expect(mayCost(name)).toBe(false);
    const config = { [name]: { model: "llama3.2" } };
    expect(configDocument.parse(config)).toMatchObject(config);
    const runtime = localRuntimeOf(name) ?? "";
    expect(RUNTIME_NAMES).toContain(runtime);
    expect(readConfig(JSON.stringify(config), runtime).model).toBe("llama3.2");
  });

  test("is in the catalog, which lists no other provider as local, at the same address", () => {
    const listed = bundledProviders.filter(({ local }) => local === true);
    const known = Object.keys(LOCAL_RUNTIMES).filter((name) => !NOT_IN_CATALOG.includes(name));
    expect(listed.map(({ provider }) => provider).sort()).toEqual(known.sort());
    for (const { provider, list_url } of listed) {
      expect(new URL(list_url).origin).toBe(LOCAL_RUNTIMES[provider as keyof typeof LOCAL_RUNTIMES].address);
    }
  });
});

test("a hosted provider is not local", () => {
  for (const provider of ["openai", "anthropic", "groq", "openrouter"]) expect(isLocalProvider(provider)).toBe(false);
});
