// Every key of the config reaches the rules: a key that is only in the document fails here.

import { expect, it } from "vitest";
import * as z from "zod";
import { configDocument, toConfig } from "../../contract/config/config.ts";
import { LOCAL_RUNTIME_NAMES } from "../../domain/fleet/local-runtime.ts";

interface Schema {
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly required?: readonly string[];
}

type Path = readonly string[];

/** Read by the worker itself, not by the rules. */
const OF_THE_WORKER: readonly string[] = LOCAL_RUNTIME_NAMES;
const TRIED = [0.5, 1, 2, 7, 70, 5000, true, false, "other", "https://example.com", ["other"], ["https://example.com"]];

const document = z.toJSONSchema(configDocument, { io: "input", unrepresentable: "any" }) as Schema;

const resolved = (schema: Schema): Schema => {
  const named = schema.$ref === undefined ? schema : (document.$defs?.[schema.$ref.split("/").at(-1) ?? ""] ?? {});
  return Object.assign({}, named, ...[...(named.allOf ?? []), ...(named.anyOf ?? [])].map(resolved));
};

/** Paths of all single values; a name that the tenant chooses is written as `other`. */
const leavesOf = (given: Schema, path: Path = []): { path: Path; values: readonly unknown[] }[] => {
  const schema = resolved(given);
  const { properties, additionalProperties } = schema;
  if (properties !== undefined)
    return Object.entries(properties).flatMap(([name, inner]) => leavesOf(inner, [...path, name]));
  if (typeof additionalProperties === "object") return leavesOf(additionalProperties, [...path, "other"]);
  return [{ path, values: schema.enum ?? TRIED }];
};

/** What a key needs beside it. */
const AROUND = { front_door: { aliases: { other: { model: "other" } } } };

const withValue = (path: Path, value: unknown): object => {
  const config = structuredClone(AROUND) as Record<string, unknown>;
  let at = config;
  for (const name of path.slice(0, -1)) {
    at[name] ??= {};
    at = at[name] as Record<string, unknown>;
  }
  at[path.at(-1) ?? ""] = value;
  return config;
};

const asText = (config: unknown): string =>
  JSON.stringify(config, (_key, value) => (value instanceof Map ? [...value] : value));

/** What the rules read for each valid value there. */
const configsWith = (path: Path, values: readonly unknown[]): string[] =>
  values.flatMap((value) => {
    const read = configDocument.safeParse(withValue(path, value));
    return read.success ? [asText(toConfig(read.data))] : [];
  });

it("no key of the config is taken and ignored", () => {
  const unread: string[] = [];
  const untried: string[] = [];
  const unchanged = asText(toConfig(configDocument.parse(AROUND)));
  for (const { path, values } of leavesOf(document)) {
    if (OF_THE_WORKER.includes(path[0] ?? "")) continue;
    const configs = configsWith(path, values);
    if (configs.length === 0) untried.push(path.join("."));
    else if (configs.every((config) => config === unchanged)) unread.push(path.join("."));
  }
  expect(untried).toEqual([]);
  expect(unread).toEqual([]);
});
