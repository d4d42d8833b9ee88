// The secrets of `npm run dev`, in a file that wrangler reads, because every user of the machine can see command lines.
// The developer's own .env and .dev.vars take precedence.

import { existsSync, mkdirSync } from "node:fs";
import path from "node:path";
import { writeKept } from "../self-host/data/kept-secret.ts";

/** Publicly known on purpose: they only protect a developer's own machine. */
const DEVELOPMENT_SECRETS = {
  SERVICE_ROOT_KEY: "development-root-key",
  SERVICE_SIGNING_SECRET: "development-signing-secret",
};
/** Below .wrangler/, which git ignores. */
const FILE = path.join(".wrangler", "development.env");
const OWN_FILES = [".env", ".dev.vars"];

/** Writes the file below `root`, for its owner alone; returns the flags that make `wrangler dev` read it. */
export function keepDevSecrets(root: string, env: NodeJS.ProcessEnv): string[] {
  mkdirSync(path.join(root, path.dirname(FILE)), { recursive: true });
  const lines = Object.entries(DEVELOPMENT_SECRETS).map(([name, usual]) => `${name}=${quoted(env[name] || usual)}`);
  writeKept(path.join(root, FILE), lines.join("\n"));
  const files = [FILE, ...OWN_FILES.filter((one) => existsSync(path.join(root, one)))];
  return files.flatMap((file) => ["--env-file", file]);
}

/** wrangler takes the quoted text literally, except `$`, which it would expand. */
function quoted(value: string): string {
  const quote = ["'", '"', "`"].find((one) => !value.includes(one)) ?? "'";
  return quote + value.replaceAll("$", "\\$") + quote;
}
