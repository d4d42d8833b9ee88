// A config that arrives, as JSON or YAML.

import { type Document, isScalar, parseDocument, visit } from "yaml";
import type { ConfigDocument } from "../../contract/config/config.ts";
import { historyDefaultsOf, withHistoryDefaults } from "../../contract/config/config-history.ts";
import { configRequest, withFittingTimes } from "../../contract/config/config-times.ts";
import { readAs } from "../../contract/words/validation.ts";
import { invalid } from "../../domain/words/refusal.ts";
import type { AppContext } from "../http/auth.ts";
import { bareMediaType, namesForeignCharset, parseJsonBody, readText } from "../http/body.ts";
import { Refused, unwrap } from "../http/refused.ts";

const MAX_CONFIG_BYTES = 64 * 1024;
const YAML_TYPES = ["application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"];
const MAX_YAML_INDENT = 64;
const MAX_YAML_BRACKETS = 16;

export const isYaml = (mediaType: string): boolean => YAML_TYPES.includes(bareMediaType(mediaType));
export const isJson = (mediaType: string): boolean => bareMediaType(mediaType) === "application/json";

export const readDocument = async (c: AppContext): Promise<ConfigDocument> => {
  const mediaType = c.req.header("content-type") ?? "";
  if (namesForeignCharset(mediaType) || (!isJson(mediaType) && !isYaml(mediaType))) {
    throw new Refused({ code: "unsupported_media_type", expected: "application/json or application/yaml, in UTF-8" });
  }
  const text = await readText(c, { limitBytes: MAX_CONFIG_BYTES });
  // An empty body is a mistake, not a request for every default; that would be `{}`.
  if (text.trim() === "") throw new Refused(invalid("", "a body is required: the whole config, as JSON or YAML"));
  const given = isJson(mediaType) ? parseJsonBody(text) : parseYaml(text);
  return unwrap(readAs(configRequest, withHistoryDefaults(withFittingTimes(given), historyDefaultsOf(c.env))));
};

/** YAML from outside: no aliases, custom tags or deep nesting, one document, only plain values. */
const parseYaml = (text: string): unknown => {
  if (nestsTooDeep(text)) throw new Refused(invalid("", "the YAML is nested too deeply for a config"));
  try {
    // The library's own search for duplicate keys compares every pair: thousands of keys would take seconds.
    const document = parseDocument(text, { schema: "core", strict: true, uniqueKeys: false, prettyErrors: true });
    const problem = document.errors[0] ?? document.warnings[0] ?? repeatedKey(document);
    if (problem !== undefined) throw problem;
    return document.toJS({ maxAliasCount: 0 });
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    const says = code === "MULTIPLE_DOCS" ? "it has more than one document" : message.split("\n")[0]?.slice(0, 200);
    throw new Refused(invalid("", `the body must be YAML: ${says}`));
  }
};

const repeatedKey = (document: Document): Error | undefined => {
  let found: Error | undefined;
  visit(document, {
    Map: (_, { items }) => {
      const seen = new Set<string>();
      for (const { key } of items) {
        const name = String(isScalar(key) ? key.value : key);
        if (seen.has(name)) found ??= new Error(`the key ${JSON.stringify(name.slice(0, 64))} appears twice`);
        seen.add(name);
      }
    },
  });
  return found;
};

/** Checked before a parser recurses: nesting by indentation, by `- - -` on one line, or by brackets. */
const nestsTooDeep = (text: string): boolean => {
  if (text.split("\n").some((line) => (/^[\s?-]*/.exec(line)?.[0].length ?? 0) > MAX_YAML_INDENT)) return true;
  let depth = 0;
  for (const char of text) {
    if (char === "[" || char === "{") depth += 1;
    else if (char === "]" || char === "}") depth = Math.max(0, depth - 1);
    if (depth > MAX_YAML_BRACKETS) return true;
  }
  return false;
};
