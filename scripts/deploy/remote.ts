// The steps of a deploy in the Cloudflare account, each made with wrangler and safe to repeat.

import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Database } from "../../self-host/build/project.ts";
import { ExitError } from "../../self-host/exit-error.ts";
import { ROOT, runCommand } from "../../self-host/run-command.ts";

/** The value in wrangler.toml until the database exists. */
const NO_DATABASE_ID = "00000000-0000-0000-0000-000000000000";

/** Runs wrangler quietly; returns its output. */
export const wrangler = async (failure: string, ...args: string[]): Promise<string> => {
  const { code, output } = await runCommand("wrangler", args, { isQuiet: true });
  if (code !== 0) throw new ExitError(`${failure}\n${output.trim()}`);
  return output;
};

/** The JSON document in wrangler's output, which may have a banner or warnings around it. */
export const parseJson = <T>(output: string): T => {
  const start = output.search(/^[[{]/m);
  try {
    return JSON.parse(output.slice(start, output.search(/[\]}]\s*$/) + 1)) as T;
  } catch {
    throw new ExitError(`wrangler's output is not the expected JSON:\n${output}`);
  }
};

export const requireLogin = async (): Promise<void> => {
  const { code } = await runCommand("wrangler", ["whoami", "--json"], { isQuiet: true });
  if (code === 0) return;
  throw new ExitError(
    "wrangler is not logged in to Cloudflare. Run `npx wrangler login`, or set CLOUDFLARE_API_TOKEN (and CLOUDFLARE_ACCOUNT_ID).",
  );
};

type NamedDatabase = Pick<Database, "binding" | "databaseName">;

interface RemoteDatabase {
  name: string;
  uuid: string;
}

const isBlockOf = (table: string, binding: string): boolean =>
  table.startsWith("[[d1_databases]]") && new RegExp(`^\\s*binding\\s*=\\s*["']${binding}["']`, "m").test(table);

/** wrangler.toml with the database's id, in its block or in a new one; null if it has an id already. */
export const withDatabase = (
  toml: string,
  { binding, databaseName: name }: NamedDatabase,
  id: string,
): string | null => {
  const block = toml.split(/^(?=\[)/m).find((table) => isBlockOf(table, binding));
  if (block !== undefined)
    return block.includes(NO_DATABASE_ID) ? toml.replace(block, block.replace(NO_DATABASE_ID, id)) : null;
  const pairs = [`binding = "${binding}"`, `database_name = "${name}"`, `database_id = "${id}"`];
  return [toml.trimEnd(), "", "[[d1_databases]]", ...pairs, 'migrations_dir = "migrations"', ""].join("\n");
};

/** Writes the database's id into wrangler.toml if it has none, and creates the database if the account has none. */
export const ensureDatabase = async (given: NamedDatabase): Promise<void> => {
  const name = given.databaseName;
  const file = path.join(ROOT, "wrangler.toml");
  const toml = readFileSync(file, "utf8");
  if (withDatabase(toml, given, "") === null) return;
  const find = async () =>
    parseJson<RemoteDatabase[]>(
      await wrangler("The account's D1 databases could not be listed.", "d1", "list", "--json"),
    ).find((database) => database.name === name);
  let database = await find();
  if (!database) {
    await wrangler(`The D1 database ${name} could not be created.`, "d1", "create", name);
    database = await find();
  }
  if (!database)
    throw new ExitError(`The D1 database ${name} was created but is not listed yet. Deploy again in a minute.`);
  writeFileSync(file, withDatabase(toml, given, database.uuid) ?? toml);
  console.log(`wrangler.toml now names the D1 database ${name} (${database.uuid}): commit it.`);
};

/**
 * The secrets that the deployed worker lacks. Any answer but a list or "no such worker" ends the deploy,
 * because a new signing secret in place of the real one would invalidate every key.
 */
export const missingSecrets = async <Name extends string>(names: readonly Name[]): Promise<Name[]> => {
  const { code, output } = await runCommand("wrangler", ["secret", "list", "--format", "json"], { isQuiet: true });
  const isFirstDeploy = code !== 0 && /\b10007\b|does not exist|not found/i.test(output);
  if (code !== 0 && !isFirstDeploy) throw new ExitError(`The worker's secrets could not be listed.\n${output.trim()}`);
  const present = new Set(isFirstDeploy ? [] : parseJson<{ name: string }[]>(output).map((secret) => secret.name));
  return names.filter((name) => !present.has(name));
};
