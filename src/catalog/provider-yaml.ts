// Parses one provider's YAML to its validated config, or to what is wrong with it by file, line and key.

import { isMap, LineCounter, type ParsedNode, parseDocument } from "yaml";
import type { ProviderDefinition } from "../../domain/catalog/catalog.ts";
import { providerSchema } from "./provider-schema.ts";

const PROVIDER_FILE_MAX_CHARACTERS = 64 * 1024;

type FileProblem = { file: string; line: number; key: string; message: string };

type ProviderReading = { ok: true; provider: ProviderDefinition } | { ok: false; problems: FileProblem[] };

export const parseProvider = (file: string, text: string): ProviderReading => {
  const at = (line: number, key: string, message: string): FileProblem => ({ file, line, key, message });
  if (text.length > PROVIDER_FILE_MAX_CHARACTERS) {
    return { ok: false, problems: [at(1, "", `is larger than ${PROVIDER_FILE_MAX_CHARACTERS / 1024} KiB`)] };
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, version: "1.2" });
  if (document.errors.length > 0) {
    const problems = document.errors.map((error) => at(lines.linePos(error.pos[0]).line, "", error.message));
    return { ok: false, problems };
  }
  const lineOf = (path: readonly PropertyKey[]) => lines.linePos(offsetOf(document.contents, path)).line;
  const value = toPlain(document);
  if (value === ALIASED) return { ok: false, problems: [at(1, "", "must not use YAML aliases")] };
  const result = providerSchema.safeParse(value);
  if (result.success) return { ok: true, provider: result.data };
  const problems = result.error.issues.flatMap((issue) => {
    const paths = issue.code === "unrecognized_keys" ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
    const message = issue.code === "unrecognized_keys" ? "is not a known key of a provider file" : issue.message;
    return paths.map((path) => at(lineOf(path), path.map(String).join("."), message));
  });
  return { ok: false, problems };
};

export const describeProblem = (problem: FileProblem): string => {
  const where = `${problem.file}:${problem.line}`;
  return problem.key === "" ? `${where}: ${problem.message}` : `${where}: ${problem.key}: ${problem.message}`;
};

const ALIASED = Symbol("aliased");

const toPlain = (document: ReturnType<typeof parseDocument>): unknown => {
  try {
    return document.toJS({ maxAliasCount: 0 });
  } catch {
    return ALIASED;
  }
};

/** The position of the deepest existing node on the path; a missing key is reported at its parent. */
const offsetOf = (root: ParsedNode | null, path: readonly PropertyKey[]): number => {
  let offset = root?.range?.[0] ?? 0;
  let node: unknown = root;
  for (const segment of path) {
    if (!isMap(node)) break;
    const pair = node.items.find((item) => String(item.key) === String(segment));
    if (pair === undefined) break;
    const key = pair.key as ParsedNode | null;
    offset = key?.range?.[0] ?? offset;
    node = pair.value;
  }
  return offset;
};
