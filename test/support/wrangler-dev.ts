// The service as `wrangler dev` serves it: the deployed shape, without Node's edge, on a free port with its own state.

import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { migrateDevelopment } from "../../scripts/dev-migrations.ts";
import { succeed } from "./requests.ts";
import { freePort, type SelfHosted } from "./self-hosted.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const WRANGLER = path.join(ROOT, "node_modules/.bin/wrangler");
const READY_WITHIN_MS = 90_000;
const LOOK_MS = 250;
const ROOT_KEY = "the-root-key-of-a-test";

/** With a tenant `default`, as `npm start` makes it. */
export const startWranglerDev = async (
  dataDir: string,
  env: Readonly<Record<string, string>>,
): Promise<Omit<SelfHosted, "stop">> => {
  const state = path.join(dataDir, "state");
  mkdirSync(state, { recursive: true });
  const variables = {
    SERVICE_ROOT_KEY: ROOT_KEY,
    SERVICE_SIGNING_SECRET: "the-signing-secret-of-a-test",
    SERVICE_CATALOG_SYNC: "0",
    ...env,
  };
  const file = path.join(dataDir, "test.env");
  writeFileSync(
    file,
    Object.entries(variables)
      .map(([name, value]) => `${name}='${value}'`)
      .join("\n"),
  );
  const quiet = { ...process.env, CI: "1", WRANGLER_SEND_METRICS: "false" };
  await migrateDevelopment(state);
  const port = await freePort();
  const flags = ["--ip", "127.0.0.1", "--port", String(port), "--inspector-port", "0", "--persist-to", state];
  const child = spawn(WRANGLER, ["dev", ...flags, "--env-file", file], {
    cwd: ROOT,
    env: quiet,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  const url = `http://127.0.0.1:${port}`;
  await untilAnswers(url, () => output);
  const made = await succeed({ url, key: ROOT_KEY }, "POST", "/admin/tenants", { tenant: "default" });
  return {
    url,
    adminKey: made.admin_key,
    output: () => output,
    kill: async () => {
      const exited = new Promise((resolve) => child.once("exit", resolve));
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      await exited;
    },
  };
};

const untilAnswers = async (url: string, output: () => string): Promise<void> => {
  for (const endsAt = Date.now() + READY_WITHIN_MS; Date.now() < endsAt; ) {
    const isReady = await fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  throw new Error(`wrangler dev did not become ready:\n${output()}`);
};
