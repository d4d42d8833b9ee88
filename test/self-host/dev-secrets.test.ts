// `npm run dev` gives its secrets to wrangler in a file of the owner, checked with wrangler's own parser.

import { readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseEnv } from "node:util";
import { expect, it } from "vitest";
import { keepDevSecrets } from "../../scripts/dev-secrets.ts";
import { folderForEachTest } from "../support/temporary-folder.ts";

const folder = folderForEachTest();
const kept = () => parseEnv(readFileSync(path.join(folder.path, ".wrangler/development.env"), "utf8"));

it("no secret is on wrangler's command line, and only the owner can read the file", () => {
  const given = { SERVICE_ROOT_KEY: "root-of-mine", SERVICE_SIGNING_SECRET: "sign'ing \"secret#1" };
  expect(keepDevSecrets(folder.path, given)).toEqual(["--env-file", ".wrangler/development.env"]);
  expect(kept()).toEqual(given);
  expect(statSync(path.join(folder.path, ".wrangler/development.env")).mode & 0o777).toBe(0o600);
});

it("secrets that are not given are the known ones of development", () => {
  keepDevSecrets(folder.path, { SERVICE_ROOT_KEY: "" });
  expect(kept()).toEqual({
    SERVICE_ROOT_KEY: "development-root-key",
    SERVICE_SIGNING_SECRET: "development-signing-secret",
  });
});

it("the developer's own file is read after it", () => {
  writeFileSync(path.join(folder.path, ".dev.vars"), "PROVIDER_ACME_KEY=x\n");
  expect(keepDevSecrets(folder.path, {})).toEqual([
    "--env-file",
    ".wrangler/development.env",
    "--env-file",
    ".dev.vars",
  ]);
});
