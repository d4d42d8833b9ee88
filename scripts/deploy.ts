// `npm run deploy`: from a checkout to a running service in a Cloudflare account; the same command updates it. `--
// --dry-run` does everything that needs no account. Order: a database before its migrations, migrations before the code
// that needs them, secrets in the same upload as the code.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { loadProject } from "./build/project.ts";
import { buildAll } from "./build.ts";
import { ensureDatabase, missingSecrets, requireLogin } from "./deploy/remote.ts";
import { ExitError, runScript } from "./exit-error.ts";
import { ROOT, runCommand } from "./run-command.ts";
import { keepSecret } from "./self-host/kept-secret.ts";

/** Below .wrangler/, which git ignores. */
const ROOT_KEY_FILE = path.join(ROOT, ".wrangler", "root.key");
const SECRETS = ["SERVICE_ROOT_KEY", "SERVICE_SIGNING_SECRET"];

function readFlags(): { "dry-run"?: boolean } {
  try {
    return parseArgs({ options: { "dry-run": { type: "boolean" } } }).values;
  } catch (error) {
    throw new ExitError(`${(error as Error).message}\nUsage: npm run deploy [-- --dry-run]`, 2);
  }
}

async function run(args: string[]): Promise<void> {
  const { code } = await runCommand("wrangler", args);
  if (code !== 0)
    throw new ExitError(`\`wrangler ${args.slice(0, 3).join(" ")}\` failed: the steps after it were not run.`);
}

async function dryRun(): Promise<void> {
  const { databases } = await loadProject();
  await run(["deploy", "--dry-run"]);
  const names = databases.flatMap(({ migrations }) => migrations.map(({ name }) => name));
  console.log(
    `A deploy would apply these D1 migrations, unless they are already applied: ${names.join(", ") || "none"}.`,
  );
  console.log(`It would create these secrets, unless they exist: ${SECRETS.join(", ")}.`);
}

/** Deploys with the missing secrets, in a temporary file that only the owner can read. */
async function deployWithSecrets(secrets: Record<string, string>): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), "signalbox-deploy-"));
  try {
    const file = path.join(folder, "secrets.json");
    writeFileSync(file, JSON.stringify(secrets), { mode: 0o600 });
    await run(["deploy", ...(Object.keys(secrets).length === 0 ? [] : ["--secrets-file", file])]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Before the upload, so that the running service's key is not lost if a later step fails. It is never logged. A key
 * kept by an earlier deploy is used again, because that deploy may have failed at any step.
 */
function keepRootKey(): string {
  mkdirSync(path.dirname(ROOT_KEY_FILE), { recursive: true, mode: 0o700 });
  return keepSecret(undefined, ROOT_KEY_FILE);
}

async function deploy(): Promise<void> {
  await requireLogin();
  const { databases } = await loadProject();
  for (const { databaseName } of databases) await ensureDatabase(databaseName);
  for (const { binding } of databases) await run(["d1", "migrations", "apply", binding, "--remote"]);
  const secrets = await missingSecrets(SECRETS);
  for (const name of SECRETS.filter((one) => process.env[one] && !(one in secrets)))
    console.log(
      `${name} in the environment is ignored, because the worker already has that secret. Change it with \`wrangler secret put\`.`,
    );
  const isMade = secrets.SERVICE_ROOT_KEY !== undefined && !process.env.SERVICE_ROOT_KEY;
  if (isMade) secrets.SERVICE_ROOT_KEY = keepRootKey();
  await deployWithSecrets(secrets);
  if (isMade) console.log(`\nThe root key, which manages tenants (POST /admin/tenants), is kept in ${ROOT_KEY_FILE}.`);
}

await runScript(async () => {
  const isDryRun = readFlags()["dry-run"] ?? false;
  await buildAll((part) => console.log(`Built the ${part}.`));
  await (isDryRun ? dryRun() : deploy());
  return 0;
});
