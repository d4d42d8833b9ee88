// The client is bundled into pages and packages, so it must not bring the schemas along.

import { build } from "esbuild";
import { expect, it } from "vitest";

const inputsOf = async (entry: string): Promise<string[]> => {
  const { metafile } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "neutral",
    logLevel: "silent",
  });
  return Object.keys(metafile.inputs);
};

it.each(["contract/client.ts", "contract/words/values.ts"])(
  "%s bundles without zod or any other package",
  async (entry) => {
    const inputs = await inputsOf(entry);
    expect(inputs.length).toBeGreaterThan(1);
    expect(inputs.filter((file) => file.includes("node_modules"))).toEqual([]);
  },
);
