// `npm run deploy`: from a checkout to a running service in a Cloudflare account; the same command updates it.
// `-- --dry-run` does everything that needs no account; `-- --databases 3` spreads history over three. Order: a database
// before its migrations, migrations before the code that needs them, secrets in the same upload as the code.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { loadProject, type Project } from "../self-host/build/project.ts";
import { keepSecret, requireRootKey, requireSigningSecret } from "../self-host/data/kept-secret.ts";
import { ExitError, runScript } from "../self-host/exit-error.ts";
import { ROOT, runCommand } from "../self-host/run-command.ts";
import { requireVars } from "../self-host/settings/deployed-vars.ts";
import { buildAll } from "./build.ts";
import { databasesWith } from "./deploy/databases.ts";
import { applyMigrations } from "./deploy/migrations.ts";
import { ensureDatabase, missingSecrets, requireLogin } from "./deploy/remote.ts";

/** Beside the checkout's own files, not in .wrangler/, whose content anyone deletes; git ignores it. */
const KEPT_FOLDER = path.join(ROOT, ".deploy");

const SECRETS = {
  SERVICE_ROOT_KEY: { file: "root.key", says: "The root key, which manages tenants (POST /admin/tenants)," },
  SERVICE_SIGNING_SECRET: {
    file: "signing.secret",
    says: "The signing secret, which a deployment needs that a tenant moves to (SERVICE_SIGNING_SECRET_ALSO),",
  },
} as const;
type SecretName = keyof typeof SECRETS;
const SECRET_NAMES = Object.keys(SECRETS) as SecretName[];
const keptFile = (name: SecretName): string => path.join(KEPT_FOLDER, SECRETS[name].file);

interface Flags {
  readonly "dry-run"?: boolean;
  readonly databases?: string;
}

function readFlags(): Flags {
  try {
    return parseArgs({ options: { "dry-run": { type: "boolean" }, databases: { type: "string" } } }).values;
  } catch (error) {
    throw new ExitError(`${(error as Error).message}\nUsage: npm run deploy [-- --dry-run --databases <count>]`, 2);
  }
}

async function run(args: string[]): Promise<void> {
  const { code } = await runCommand("wrangler", args);
  if (code !== 0)
    throw new ExitError(`\`wrangler ${args.slice(0, 3).join(" ")}\` failed: the steps after it were not run.`);
}

async function dryRun(project: Project, { databases: asked }: Flags): Promise<void> {
  const databases = databasesWith(project, asked);
  await run(["deploy", "--dry-run"]);
  const names = databases[0]?.migrations.map(({ name }) => name) ?? [];
  const further = databases.slice(project.databases.length).map(({ binding }) => binding);
  if (further.length > 0) console.log(`A deploy would add these D1 databases: ${further.join(", ")}.`);
  console.log(
    `A deploy would apply these D1 migrations, unless they are already applied: ${names.join(", ") || "none"}.`,
  );
  console.log(`It would create these secrets, unless they exist: ${SECRET_NAMES.join(", ")}.`);
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
 * Before the upload, so that no secret of the running service is lost if a later step fails: a worker's secrets cannot
 * be read again. They are never logged. One that an earlier deploy kept is used again, because that deploy may have
 * failed at any step.
 */
function keepDeployed(name: SecretName): string {
  mkdirSync(KEPT_FOLDER, { recursive: true, mode: 0o700 });
  if (name === "SERVICE_ROOT_KEY") requireRootKey(process.env[name]);
  else requireSigningSecret(name, process.env[name]);
  return keepSecret(process.env[name], keptFile(name));
}

const sayWhereKept = (name: SecretName): void =>
  console.log(
    `${SECRETS[name].says} is kept in ${keptFile(name)}, readable by you alone: put a copy where you keep secrets.`,
  );

async function deploy(project: Project, { databases: asked }: Flags): Promise<void> {
  const databases = databasesWith(project, asked);
  await requireLogin();
  for (const database of databases) await ensureDatabase(database);
  for (const database of databases) {
    const applied = await applyMigrations(database);
    console.log(`D1 migrations of ${database.binding}: ${applied.join(", ") || "all were applied before"}.`);
  }
  const secrets = await missingSecrets(SECRET_NAMES);
  for (const name of SECRET_NAMES.filter((one) => process.env[one] && !secrets.includes(one)))
    console.log(
      `${name} in the environment is ignored, because the worker already has that secret. Change it with \`wrangler secret put\`.`,
    );
  const values = Object.fromEntries(secrets.map((name) => [name, keepDeployed(name)]));
  for (const name of secrets.filter((one) => !process.env[one])) sayWhereKept(name);
  await deployWithSecrets(values);
}

await runScript(async () => {
  const flags = readFlags();
  const project = await loadProject();
  for (const words of await requireVars(project.vars)) console.error(words);
  await buildAll((part) => console.log(`Built the ${part}.`));
  await (flags["dry-run"] ? dryRun : deploy)(project, flags);
  return 0;
});
