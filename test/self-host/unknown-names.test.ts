// A mistyped setting is said at the start: without it the server would begin in another folder, or keep history for ever.

import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { USAGE } from "../../self-host/settings/settings.ts";
import { unknownNames } from "../../self-host/settings/unknown-names.ts";

test.each([
  ["SERVICE_DATA_DR", "SERVICE_DATA_DIR"],
  ["SERVICE_TENANT_MAX_BG", "SERVICE_TENANT_MAX_GB"],
  ["SERVICE_TRUSTED_PROXY", "SERVICE_TRUST_PROXY"],
  ["SERVICE_ARCHIV", "SERVICE_ARCHIVE"],
  ["SERVICE_PROCESS", "SERVICE_PROCESSES"],
  ["SERVICE_HISTORY_KEEP_DAY", "SERVICE_HISTORY_KEEP_DAYS"],
  ["SERVICE_HOSTNAME", "SERVICE_HOST"],
  ["SERVICE_LOG_FORMAT", "SERVICE_LOG"],
  ["SERVICE_PORT", "PORT"],
  ["PROVIDER_openai_KEY", "PROVIDER_OPENAI_KEY"],
  ["provider_together-ai_key", "PROVIDER_TOGETHER_AI_KEY"],
])("%s is said to be no setting, with the name that is meant, and without its value", (given, meant) => {
  expect(unknownNames(USAGE, { [given]: "hunter2" })).toEqual([
    `${given} is no setting and changes nothing: did you mean ${meant}?`,
  ]);
});

test("settings of every process, other people's variables and empty ones are not spoken of", () => {
  const known = USAGE.match(/\bSERVICE_[A-Z_]+\b/g) ?? [];
  const others = ["SERVICE_API_URL", "SERVICE_CONFIG_URL", "SERVICE_SIGNING_SECRET_ALSO", "SERVICE_STARTED_AGAIN"];
  const theirs = [
    "SERVICE_NAME",
    "SERVICE_VERSION",
    "SERVICE_RESULT",
    "SERVICE_SERVICE_PORT",
    "PORT",
    "PROVIDER_OPENAI_KEY",
    "PATH",
  ];
  const given = [...known, ...others, ...theirs].map((name) => [name, "1"]);
  expect(unknownNames(USAGE, { ...Object.fromEntries(given), SERVICE_DATA_DR: "" })).toEqual([]);
});

test("every setting that some program reads is known", async () => {
  const cwd = path.join(import.meta.dirname, "../..");
  const read = new Set<string>();
  for await (const file of glob("{cli,log,scripts,sdk,self-host,src,worker}/**/*.{ts,mjs}", { cwd })) {
    const source = readFileSync(path.join(cwd, file), "utf8");
    for (const [name] of source.matchAll(/\bSERVICE_[A-Z_]+\b(?=[^A-Z_*<])/g)) read.add(name);
  }
  expect(read.size).toBeGreaterThan(30);
  // The server makes it for its objects.
  read.delete("SERVICE_CATALOG_FILES");
  expect(unknownNames(USAGE, Object.fromEntries([...read].map((name) => [name, "1"])))).toEqual([]);
});
