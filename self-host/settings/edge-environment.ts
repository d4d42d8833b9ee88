// What the edge gets of the operator's environment: the variables that it may read, the operator's own provider files, and
// how people sign in. What is invalid ends the start, because here the operator sees the message.

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { logFormatOf } from "../children/child-output.ts";
import { ExitError } from "../exit-error.ts";
import { ROOT } from "../run-command.ts";

/** The variables that the edge may read from this process's environment, besides those of [vars] in wrangler.toml. */
const PASSED_ON =
  /^(SERVICE_(CATALOG_(SYNC|LOCAL)|EDGE_TENANTS|TENANT_MAX_GB|(WEBHOOKS|SIGN_IN)_PRIVATE|PUBLIC_URL|SIGNING_SECRET_ALSO|LOG(_LEVEL|_REQUESTS)?|OTLP_(URL|HEADERS))|PROVIDER_[A-Z0-9_]+_KEY|VAULT_[A-Z0-9_]+)$/;

/** Linux allows 128 KiB in one environment variable. */
const MAX_CATALOG_BYTES = 120 * 1024;

/** wrangler.toml has them for a deployment, whose database has a limit; a server has them only from its operator. */
const OF_DEPLOYMENTS = ["SERVICE_HISTORY_MAX_GB", "SERVICE_HISTORY_KEEP_DAYS", "SERVICE_HISTORY_KEEP_TEXTS_DAYS"];

/** The operator's variables that the edge gets unchanged: declared vars, catalog switch, provider keys, vault. */
export const passedEnvironment = (
  declared: Record<string, unknown>,
  env: NodeJS.ProcessEnv,
): Record<string, string> => {
  const passed = Object.entries(env).filter(([name, value]) => value && (name in declared || PASSED_ON.test(name)));
  const unset = Object.fromEntries(OF_DEPLOYMENTS.map((name) => [name, ""]));
  return { ...unset, ...Object.fromEntries(passed), SERVICE_LOG: logFormatOf(env) } as Record<string, string>;
};

/**
 * The operator's own provider files (SERVICE_CATALOG_DIR), as one JSON object from file name to YAML text; read by
 * the edge's own schema.
 */
export const readExtraCatalog = async (env: NodeJS.ProcessEnv): Promise<Record<string, string>> => {
  if (!env.SERVICE_CATALOG_DIR) return {};
  const directory = path.resolve(ROOT, env.SERVICE_CATALOG_DIR);
  const files = readYamlFiles(directory);
  // Loading the YAML reader takes time, so it is only loaded if there is such a folder.
  const { readFiles } = await import("../../src/catalog/providers.ts");
  const { problems } = readFiles(files);
  if (problems.length > 0) throw new ExitError(wrongCatalogMessage(directory, problems));
  const text = JSON.stringify(files);
  if (Buffer.byteLength(text) > MAX_CATALOG_BYTES) {
    throw new ExitError(`The provider files in ${directory} have more than ${MAX_CATALOG_BYTES / 1024} KiB together.`);
  }
  return { SERVICE_CATALOG_FILES: text };
};

/** How people sign in: the YAML itself, or the path of a file with it. */
export const readSignIn = async (env: NodeJS.ProcessEnv): Promise<Record<string, string>> => {
  const given = env.SERVICE_SIGN_IN ?? "";
  if (given === "") return {};
  const isText = given.includes(":\n") || given.includes(": ") || given.trimStart().startsWith("{");
  const text = isText ? given : readSignInFile(path.resolve(ROOT, given));
  await requireSignIn(text);
  return { SERVICE_SIGN_IN: text };
};

export const requireSignIn = async (text: string): Promise<void> => {
  const { readDeploymentSignIn } = await import("../../src/sign-in/config.ts");
  try {
    readDeploymentSignIn(text);
  } catch (error) {
    throw new ExitError((error as Error).message);
  }
};

const readSignInFile = (file: string): string => {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new ExitError(`SERVICE_SIGN_IN: ${file} cannot be read: ${(error as Error).message}`);
  }
};

const readYamlFiles = (directory: string): Record<string, string> => {
  const names = orUnreadable(directory, () => readdirSync(directory)).filter((name) => /\.ya?ml$/.test(name));
  const read = (file: string): string => orUnreadable(file, () => readFileSync(file, "utf8"));
  return Object.fromEntries(names.sort().map((name) => [name, read(path.join(directory, name))]));
};

const orUnreadable = <T>(place: string, read: () => T): T => {
  try {
    return read();
  } catch (error) {
    throw new ExitError(`SERVICE_CATALOG_DIR: ${place} cannot be read: ${(error as Error).message}`);
  }
};

const wrongCatalogMessage = (directory: string, problems: readonly string[]): string => {
  const isAboutAddress = problems.some((problem) => problem.includes(" list_url: "));
  return [
    `Provider files in SERVICE_CATALOG_DIR (${directory}) are invalid:`,
    ...problems.map((problem) => `  ${problem}`),
    ...(isAboutAddress ? ["A runtime with plain http or a private address needs `local: true`."] : []),
    "Fix these files or remove them from the folder, and start again. providers/README.md documents their format.",
  ].join("\n");
};
