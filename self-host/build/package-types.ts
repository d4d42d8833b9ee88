// The types of SDK and worker without zod: the compiler's declarations, with each `z.infer` of a schema written out.
// Invariant: the result refers to no package.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import * as z from "zod";
import { ExitError } from "../exit-error.ts";
import { ROOT, runCommand } from "../run-command.ts";
import { statementsOf } from "./declaration-statements.ts";
import { typeOf } from "./schema-type.ts";

const ENTRIES = ["sdk/signalbox", "worker/serve/serve"];
const DECLARED_ENTRIES = ENTRIES.map((entry) => `${entry}.d.ts`);
const INFERRED = /z\.(infer|input|output)<typeof (\w+)>/g;
const SPECIFIER = /(from |import\()"(\.[^"]+)\.ts"/g;

export const writePackageTypes = async (target: string): Promise<void> => {
  const emitted = mkdtempSync(path.join(ROOT, "dist", "types-"));
  try {
    await emitDeclarations(emitted);
    const seen = new Set<string>();
    const waiting = [...DECLARED_ENTRIES];
    for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
      if (seen.has(file)) continue;
      seen.add(file);
      const text = await withoutZod(file, readFileSync(path.join(emitted, file), "utf8"));
      waiting.push(...importsOf(file, text));
      const place = path.join(target, file);
      mkdirSync(path.dirname(place), { recursive: true });
      writeFileSync(place, text.replaceAll(SPECIFIER, '$1"$2.js"'));
    }
  } finally {
    rmSync(emitted, { recursive: true, force: true });
  }
};

const emitDeclarations = async (directory: string): Promise<void> => {
  const config = path.join(directory, "tsconfig.json");
  const compilerOptions = {
    lib: ["ES2024", "DOM", "DOM.Iterable"],
    // For the worker's own code; no declaration that a user sees names them.
    types: ["node"],
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    outDir: directory,
    rootDir: ROOT,
  };
  const settings = {
    extends: path.join(ROOT, "tsconfig.base.json"),
    compilerOptions,
    files: ENTRIES.map((entry) => path.join(ROOT, `${entry}.ts`)),
  };
  writeFileSync(config, JSON.stringify(settings));
  const { code, output } = await runCommand("tsc", ["-p", config], { isQuiet: true });
  const isWritten = DECLARED_ENTRIES.every((entry) => existsSync(path.join(directory, entry)));
  if (code !== 0 || !isWritten) {
    throw new ExitError(`The package's types were not written (${readdirSync(directory).join(", ")}):\n${output}`);
  }
};

/** The files that a declaration file refers to, relative to its own place. */
const importsOf = (file: string, text: string): string[] =>
  [...text.matchAll(SPECIFIER)].map(([, , specifier]) =>
    path.posix.join(path.posix.dirname(file), `${specifier}.d.ts`),
  );

/** Removes schemas; types inferred from them stay, written out. */
const withoutZod = async (file: string, text: string): Promise<string> => {
  if (!/from "zod"/.test(text)) return text;
  const schemas = (await import(pathToFileURL(path.join(ROOT, file.replace(/\.d\.ts$/, ".ts"))).href)) as Record<
    string,
    unknown
  >;
  const types = statementsOf(text)
    .filter((statement) => IS_TYPE.test(statement))
    .map((type) =>
      type.replaceAll(INFERRED, (_all, mode: string, name: string) => writtenOut(file, schemas[name], name, mode)),
    );
  // Types may still name values (`typeof JOB_SORTS`) and other files; everything unnamed is removed.
  const named = types.join("\n");
  const others = statementsOf(text).filter(
    (statement) => !IS_TYPE.test(statement) && !/\bz\.|from "zod"/.test(statement) && isNamedIn(named, statement),
  );
  const written = `${[...others, ...types, "export {};"].join("\n")}\n`;
  if (/\bz\.\w/.test(written)) throw new ExitError(`${file}: a type names zod other than by an exported schema`);
  return written;
};

const IS_TYPE = /^(\/\*[\s\S]*?\*\/\s*)?(export )?(type|interface) /;
const IMPORTED = /\{([^}]*)\} from/;
const DECLARED = /declare const (\w+)/;

/** Whether an import or declaration provides a name that the types use. */
const isNamedIn = (types: string, statement: string): boolean => {
  const names = (IMPORTED.exec(statement)?.[1] ?? DECLARED.exec(statement)?.[1] ?? "").split(",");
  return names.some((name) => {
    const bare =
      name
        .replace(/^\s*type /, "")
        .trim()
        .split(" as ")
        .at(-1) ?? "";
    return bare !== "" && new RegExp(`\\b${bare}\\b`).test(types);
  });
};

const writtenOut = (file: string, schema: unknown, name: string, mode: string): string => {
  if (!(schema instanceof z.ZodType)) throw new ExitError(`${file}: the schema ${name} is not exported`);
  const root = path.posix.relative(path.posix.dirname(file), ".");
  return typeOf(schema, mode === "input" ? "input" : "output").replaceAll('import("/', `import("${root}/`);
};
