// The config.

import { Failure } from "../failure.ts";
import type { Verb } from "../verb.ts";

const readJson = (text: string, where: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Failure(`${where} is not JSON: ${(error as Error).message}`);
  }
};

export const configCommands: readonly Verb[] = [
  {
    name: "config get",
    says: "Prints the config with all defaults, as YAML or --json",
    examples: ["config get > config.yaml", "config get --json"],
    run: async ({ client, output, signal }) => {
      const { config } = client();
      if (output.isJson) output.value((await config.get({ signal })).document, "");
      else output.value(null, (await config.getYaml({ signal })).document);
    },
  },
  {
    name: "config set",
    says: "Replaces the config; missing settings get their defaults",
    examples: ["config set config.yaml --dry-run", "config set config.yaml"],
    args: [{ name: "file", says: "YAML, or JSON if its name ends in .json; - reads stdin" }],
    flags: { "dry-run": { takes: null, says: "only checks it and prints the result" } },
    run: async ({ client, output, signal, readInput }, input) => {
      const file = input.arg("file");
      const text = await readInput(file);
      const { config } = client();
      const { etag } = await config.get({ signal });
      // If-Match: another change between the two calls is not overwritten.
      const options = { isDryRun: input.is("dry-run"), ifMatch: etag, signal };
      const stored = file.endsWith(".json")
        ? await config.replace(readJson(text, file) as never, options)
        : output.isJson
          ? await config.replaceWithYaml(text, options)
          : await config.replaceYaml(text, options);
      output.value(
        stored.document,
        typeof stored.document === "string" ? stored.document : JSON.stringify(stored.document, null, 2),
      );
    },
  },
];
